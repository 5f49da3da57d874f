import { randomUUID } from "node:crypto";
import { STATUS_CODES, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Problem, problemBody } from "../problems/problem.ts";

const TOO_SLOW = new Problem({
  status: 408,
  code: "request_timeout",
  detail: "the request did not arrive in time",
  next: "send the same request again, over a new connection",
});

const MALFORMED = new Problem({
  status: 400,
  code: "malformed_request",
  detail: "this is not a request of HTTP/1.1",
});

/** Refusals by the code of Node's error. */
const BY_CODE: Readonly<Record<string, Problem>> = {
  ERR_HTTP_REQUEST_TIMEOUT: TOO_SLOW,
  HPE_HEADER_OVERFLOW: new Problem({
    status: 431,
    code: "headers_too_large",
    detail: "the request line and headers are larger than 32 KiB, or more than 100 headers",
    next: "send less in headers, such as fewer cookies",
  }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new Problem({
    status: 413,
    code: "payload_too_large",
    detail: "the extensions of the body's chunks are too large",
  }),
};

/** Answers input that Node.js refuses before there is a request to handle, in the form of all errors, and closes the connection. */
export function answerClientErrors(server: Server): void {
  const responses = new WeakMap<Socket, ServerResponse>();
  server.on("request", ({ socket }, response) => responses.set(socket, response));
  server.on("clientError", (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket; // A server of node:http has sockets alone.
    const response = responses.get(socket);
    // Bytes within an answer would corrupt it.
    const isAnswering = response?.headersSent === true && !response.writableFinished;
    if (isAnswering || !socket.writable || error.code === "ECONNRESET") socket.destroy();
    else refuse(socket, BY_CODE[error.code ?? ""] ?? MALFORMED);
  });
}

/** Answers a request that does not arrive, unless its answer has begun, and closes the connection. */
export function refuseSlow(socket: Socket, { headersSent }: ServerResponse): void {
  if (headersSent) socket.destroySoon();
  else refuse(socket, TOO_SLOW);
}

function refuse(socket: Socket, problem: Problem): void {
  const { status } = problem;
  const body = problemBody(problem, randomUUID());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Connection: close",
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.destroySoon();
}
