import type { ScriptedAnswer } from "./scripted-answer.ts";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { chunksOf, errorChunk, type Protocol } from "./model-protocols.ts";
import { refusalOf } from "./strict-body.ts";

export interface ScriptedRefusal {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly message: string;
  /** Other members of the error's object, beside the message. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A body that the protocol does not have. */
export interface OtherBody {
  readonly contentType: string;
  readonly text: string;
}

type Think = (
  body: Record<string, unknown>,
) => ScriptedAnswer | ScriptedRefusal | Promise<ScriptedAnswer>;

export interface ModelServer {
  readonly url: string;
  /** Bodies of the requests so far, with the protocol that they came in, and the `Authorization` that they had. */
  readonly requests: {
    readonly protocol: Protocol;
    readonly body: Record<string, unknown>;
    readonly authorization: string | undefined;
  }[];
  /** Sets the answers to the next requests, in turn. */
  answer(...answers: (ScriptedAnswer | ScriptedRefusal | OtherBody)[]): void;
  /** Derives the answers to requests without a prepared one from the request itself. */
  answerBy(think: Think): void;
}

/**
 * A server that speaks the streaming half of OpenAI Chat Completions, OpenAI Responses, Anthropic
 * Messages and Gemini from one script; closed when the test ends.
 */
export async function startModelServer(host = "127.0.0.1"): Promise<ModelServer> {
  const answers: (ScriptedAnswer | ScriptedRefusal | OtherBody)[] = [];
  const requests: ModelServer["requests"] = [];
  let thinking: Think = () => {
    return { status: 500, message: "no answer is prepared" };
  };
  const server = createServer((request, response) => {
    void (async () => {
      const protocol = protocolOf(request.url ?? "");
      const body = JSON.parse(await bodyOf(request)) as Record<string, unknown>;
      if (protocol === null) return refuse(response, { status: 404, message: "no such path" });
      requests.push({ protocol, body, authorization: request.headers.authorization });
      const message = refusalOf(body, protocol);
      if (message !== null) return refuse(response, { status: 400, message });
      const answer = answers.shift() ?? (await thinking(body));
      if ("status" in answer) return refuse(response, answer);
      if ("contentType" in answer) {
        response.writeHead(200, { "content-type": answer.contentType }).end(answer.text);
        return;
      }
      respond(response, protocol, answer);
    })();
  });
  server.listen(0, host);
  await once(server, "listening");
  after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  // A TCP server's address is not a pipe's name.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    requests,
    answer: (...more) => {
      answers.push(...more);
    },
    answerBy: (think) => {
      thinking = think;
    },
  };
}

function protocolOf(url: string): Protocol | null {
  const { pathname } = new URL(url, "http://localhost");
  if (pathname.endsWith("/chat/completions")) return "chat";
  if (pathname.endsWith("/responses")) return "responses";
  if (pathname.endsWith("/messages")) return "messages";
  return pathname.endsWith(":streamGenerateContent") ? "gemini" : null;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const part of request) body += String(part);
  return body;
}

function refuse(
  response: ServerResponse,
  { status, headers, message, more }: ScriptedRefusal,
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  // Every protocol finds its message at `error.message`.
  const error = { message, type: "error", code: status, status: "ERROR", param: null, ...more };
  response.end(JSON.stringify({ type: "error", error }));
}

function respond(response: ServerResponse, protocol: Protocol, answer: ScriptedAnswer): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunks = chunksOf(protocol, answer);
  const { isCut, failsWith } = answer;
  const isWhole = isCut !== true && failsWith === undefined;
  const shown = isWhole ? chunks : chunks.slice(0, Math.ceil(chunks.length / 2));
  if (failsWith !== undefined) shown.push(errorChunk(protocol, failsWith));
  for (const chunk of shown) {
    const event = protocol === "messages" ? `event: ${String(chunk["type"])}\n` : "";
    response.write(`${event}data: ${JSON.stringify(chunk)}\n\n`);
  }
  if (isCut === true) response.write(": \n", () => response.destroy());
  else response.end(protocol === "chat" ? "data: [DONE]\n\n" : "");
}
