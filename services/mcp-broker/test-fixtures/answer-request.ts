import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

/** Answers a request of Node.js with a handler of the Fetch API. */
export async function answerRequest(
  handler: { fetch(request: Request): Promise<Response> },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reply = await handler.fetch(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method ?? "GET",
      headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] => [
        [name, String(value)],
      ]),
      ...(request.method === "POST" ? { body: Readable.toWeb(request), duplex: "half" } : {}),
    }),
  );
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  if (reply.body === null) response.end();
  else Readable.fromWeb(reply.body).pipe(response);
}
