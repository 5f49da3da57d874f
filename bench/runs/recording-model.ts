import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Stage } from "../lib/stage.ts";

/** A request of the Chat Completions API, as far as it counts for a cache: the tools, and the messages with the system prompt. */
export interface RecordedBody {
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** A step of the model: it calls a tool, or answers with a text; or its provider fails. */
type Reply =
  | { readonly tool: string; readonly args: object }
  | { readonly text: string }
  | { readonly status: number };

/** Replies to the requests of one job, the first with number 1. A repeated request has the same number. */
type Play = (step: number, body: RecordedBody) => Reply | Promise<Reply>;

export interface RecordingModel {
  readonly url: string;
  /** Plays a job, which the task of its run names as `job=NAME`, and returns the list of its requests, which grows. */
  readonly play: (job: string, play: Play) => readonly RecordedBody[];
}

/** A provider on loopback that records what it is sent. */
export async function startRecordingModel(stage: Stage): Promise<RecordingModel> {
  const jobs = new Map<string, { readonly requests: RecordedBody[]; readonly play: Play }>();
  const server = createServer((request, response) => {
    void respond(request, response).catch((error: unknown) => response.destroy(error as Error)); // for the bench's own faults
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await textOf(request)) as RecordedBody; // the runner's requests alone arrive here
    // The runner offers no tools where it wants a summary.
    if (body.tools === undefined) return stream(response, { text: "The entries were looked up." });
    const name = /job=([\w-]+)/.exec(JSON.stringify(body.messages))?.[1] ?? "";
    const job = jobs.get(name);
    if (job === undefined) return void response.writeHead(404).end();
    const json = JSON.stringify(body);
    const known = job.requests.findIndex((earlier) => JSON.stringify(earlier) === json);
    job.requests.push(body);
    const step =
      known === -1 ? new Set(job.requests.map((one) => JSON.stringify(one))).size : known + 1;
    stream(response, await job.play(step, body));
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stage.onEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // a TCP server's address is not a pipe's name
  return {
    url: `http://127.0.0.1:${port}/v1`,
    play(name, play) {
      const requests: RecordedBody[] = [];
      jobs.set(name, { requests, play });
      return requests;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return text;
}

function stream(response: ServerResponse, reply: Reply): void {
  if ("status" in reply) return void response.writeHead(reply.status).end("{}");
  const call = "tool" in reply && {
    tool_calls: [
      {
        index: 0,
        id: "call",
        type: "function",
        function: { name: reply.tool, arguments: JSON.stringify(reply.args) },
      },
    ],
  };
  const delta = "text" in reply ? { content: reply.text } : call;
  const choice = { index: 0, delta: { role: "assistant", ...delta }, finish_reason: null };
  const end = { index: 0, delta: {}, finish_reason: "text" in reply ? "stop" : "tool_calls" };
  const usage = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
  const common = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of [{ choices: [choice] }, { choices: [end] }, { choices: [], usage }])
    response.write(`data: ${JSON.stringify({ ...common, ...chunk })}\n\n`);
  response.end("data: [DONE]\n\n");
}
