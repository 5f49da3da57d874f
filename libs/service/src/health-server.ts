import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { metricsText, type Metrics } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";
import { StartError } from "./start-error.ts";

export interface HealthServer {
  /** Base URL with the real port. */
  readonly url: string;
  /** Stops listening and cuts connections that are kept alive. */
  stop(): Promise<void>;
}

/**
 * Serves `/livez`, `/readyz` and `/metrics` by GET, the last as OpenMetrics to who accepts that. `/livez` asks nothing of any dependency: a
 * restart does not repair a Redis that is down. Rejects with a StartError when it cannot listen.
 */
export async function startHealthServer(options: {
  host: string;
  port: number;
  readiness: Readiness;
  metrics: Metrics;
}): Promise<HealthServer> {
  const routes = routesOf(options.readiness, options.metrics);
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 });
  server.on("request", (request, response) => {
    request.resume(); // a body is read and forgotten
    const route = routes.get(request.url?.split("?")[0] ?? "");
    if (route === undefined) {
      sendJson(response, 404, { error: "there is only /livez, /readyz and /metrics" });
    } else if (request.method === "GET") {
      route(response, request.headers.accept ?? "").catch((error: unknown) =>
        response.destroy(asError(error)),
      );
    } else {
      response.setHeader("allow", "GET");
      sendJson(response, 405, { error: "only GET is allowed" });
    }
  });
  const port = await listen(server, options.host, options.port);
  return {
    url: `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`,
    stop: () => close(server),
  };
}

type Route = (response: ServerResponse, accept: string) => Promise<void>;

function routesOf(readiness: Readiness, metrics: Metrics): ReadonlyMap<string, Route> {
  const report = async () => {
    const current = await readiness.report();
    metrics.setReady(current.ready);
    return current;
  };
  return new Map<string, Route>([
    ["/livez", async (response) => sendJson(response, 200, { status: "ok" })],
    [
      "/readyz",
      async (response) => {
        const { ready, ...shown } = await report();
        sendJson(response, ready ? 200 : 503, shown);
      },
    ],
    [
      "/metrics",
      async (response, accept) => {
        await report();
        const { contentType, text } = await metricsText(metrics.registry, accept);
        response.writeHead(200, { "content-type": contentType }).end(text);
      },
    ],
  ]);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  response.writeHead(status, headers).end(`${JSON.stringify(body)}\n`);
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host, port }, resolve);
  try {
    await promise;
  } catch (error) {
    throw new StartError(`cannot serve health at ${host}:${port}: ${asError(error).message}`, {
      hint: "set YARD_HEALTH_HOST and YARD_HEALTH_PORT to an address of this machine that is free; port 0 takes any",
      cause: error,
    });
  }
  const address = server.address() as AddressInfo; // what a TCP listener has
  return address.port;
}

async function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
