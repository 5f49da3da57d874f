// The base of the fake chat providers: an HTTP server on loopback whose next answers can be made to fail.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ProviderRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

export interface ProviderAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** `reset` and `hang`: the request has its effect and its answer never comes. `answer`: it has no effect, and this is the answer. */
export type Fault = { kind: "reset" } | { kind: "hang" } | ({ kind: "answer" } & ProviderAnswer);

export interface ProviderHttp {
  url: string;
  server: Server;
  /** Makes the next request whose path contains `part` fail; several are used in their order. */
  failNext(part: string, fault: Fault): void;
  close(): Promise<void>;
}

export async function startProviderHttp(
  handle: (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>,
): Promise<ProviderHttp> {
  const faults: { part: string; fault: Fault }[] = [];
  const server = createServer((request, response) => void answer(request, response));

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const url = new URL(incoming.url ?? "/", "http://localhost");
    const at = faults.findIndex(({ part }) => url.pathname.includes(part));
    const fault = at < 0 ? undefined : faults.splice(at, 1)[0]?.fault;
    if (fault?.kind === "answer") return write(response, fault);
    const result = await handle({
      method: incoming.method ?? "GET",
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: Buffer.concat(chunks),
    });
    if (fault?.kind === "hang") return;
    if (fault?.kind === "reset") return void incoming.socket.resetAndDestroy();
    write(response, result);
  }

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    server,
    failNext: (part, fault) => void faults.push({ part, fault }),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function write(
  response: ServerResponse,
  { status = 200, headers = {}, body }: ProviderAnswer,
): void {
  if (body === undefined) return void response.writeHead(status, headers).end();
  if (Buffer.isBuffer(body)) return void response.writeHead(status, headers).end(body);
  if (typeof body === "string")
    return void response.writeHead(status, { "content-type": "text/html", ...headers }).end(body);
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));
}

/** The fields of a form that was sent as JSON, URL-encoded or multipart; files are there as { name, bytes }. */
export async function readFields(request: ProviderRequest): Promise<Record<string, unknown>> {
  if (request.body.length === 0) return {};
  const type = request.headers["content-type"] ?? "application/json";
  if (type.startsWith("application/json"))
    return JSON.parse(request.body.toString()) as Record<string, unknown>;
  const form = await new Response(new Uint8Array(request.body), {
    headers: { "content-type": type },
  }).formData();
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form)
    fields[name] =
      typeof value === "string"
        ? value
        : { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) };
  return fields;
}
