import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { after } from "node:test";
import { refusalOf } from "./strict-body.ts";
import { toolRefusalOf } from "./strict-tools.ts";

/** One answer of the server: a status, or the chunks of an OpenAI chat completion stream. */
export type ChatAnswer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly error: string }
  | {
      readonly chunks: readonly unknown[];
      readonly end?: "done" | "cut" | "hang";
      /** The answer waits for it; it must not reject. */
      readonly from?: Promise<void>;
      /** The stream is open before `from` resolves and gets a comment at this interval. */
      readonly commentEveryMs?: number;
    };

export interface ChatServer {
  readonly baseURL: string;
  /** Bodies of the requests so far. */
  readonly requests: Record<string, unknown>[];
  readonly authorizations: (string | undefined)[];
  /** Sets the answers to the next requests, in turn. */
  answer(...answers: ChatAnswer[]): void;
}

/** A server that speaks the streaming half of OpenAI Chat Completions; closed when the test ends. */
export async function startChatServer(): Promise<ChatServer> {
  const answers: ChatAnswer[] = [];
  const requests: Record<string, unknown>[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = JSON.parse(await bodyOf(request)) as Record<string, unknown>;
      requests.push(body);
      authorizations.push(request.headers.authorization);
      const error = refusalOf(body) ?? toolRefusalOf(body);
      if (error !== null) return respond(response, { status: 400, error });
      const answer = answers.shift() ?? { status: 500, error: "no answer is prepared" };
      if ("chunks" in answer && answer.commentEveryMs !== undefined) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const timer = setInterval(() => response.write(": working\n\n"), answer.commentEveryMs);
        await answer.from;
        clearInterval(timer);
      }
      if ("from" in answer) await answer.from;
      respond(response, answer);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  // A TCP server's address is not a pipe's name.
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    requests,
    authorizations,
    answer: (...more) => {
      answers.push(...more);
    },
  };
}

export function textChunks(...deltas: string[]): unknown[] {
  return [
    ...deltas.map((content) => chunk({ delta: { role: "assistant", content } })),
    chunk({ delta: {}, finish_reason: "stop" }),
    { ...base, choices: [], usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 } },
  ];
}

/** A stream that requests tool calls; the arguments come in two pieces, as real servers send them. */
export function toolCallChunks(...calls: { id: string; name: string; args: string }[]): unknown[] {
  return [
    ...calls.flatMap(({ id, name, args }, index) => {
      const half = Math.floor(args.length / 2);
      return [
        chunk({
          delta: {
            tool_calls: [
              { index, id, type: "function", function: { name, arguments: args.slice(0, half) } },
            ],
          },
        }),
        chunk({ delta: { tool_calls: [{ index, function: { arguments: args.slice(half) } }] } }),
      ];
    }),
    chunk({ delta: {}, finish_reason: "tool_calls" }),
    { ...base, choices: [], usage: { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 } },
  ];
}

export function chunk(choice: Record<string, unknown>): unknown {
  return { ...base, choices: [{ index: 0, finish_reason: null, ...choice }] };
}

const base = { id: "chat-1", object: "chat.completion.chunk", created: 1, model: "served-model-1" };

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const part of request) body += String(part);
  return body;
}

function respond(response: ServerResponse, answer: ChatAnswer): void {
  if ("status" in answer) {
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    response.end(JSON.stringify({ error: { message: answer.error, type: "error", code: null } }));
    return;
  }
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  for (const each of answer.chunks) response.write(`data: ${JSON.stringify(each)}\n\n`);
  switch (answer.end ?? "done") {
    case "done":
      response.end("data: [DONE]\n\n");
      return;
    case "cut":
      response.write(": \n", () => response.destroy());
      return;
    case "hang":
      return;
  }
}
