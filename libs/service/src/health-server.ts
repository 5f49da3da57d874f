import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { metricsText, type Metrics } from "./metrics.ts";
import type { Readiness, ReadinessReport } from "./readiness.ts";
import { StartError } from "./start-error.ts";

export interface HealthServer {
  /** Base URL with the real port. */
  readonly url: string;
  /** Stops listening and cuts connections that are kept alive. */
  stop(): Promise<void>;
}

/** A service as its health is reported. Both are read at each request: a service that starts again has new ones. */
export interface Observed {
  readonly name: string;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
}

interface HealthServerOptions {
  host: string;
  port: number;
  services: readonly Observed[];
  /** The process's own metrics; null where it runs one service, whose metrics have them. */
  metrics: Metrics | null;
}

/**
 * Serves `/livez`, `/readyz` and `/metrics` by GET, the last as OpenMetrics to clients that accept that. `/livez` checks no dependency: a
 * restart does not repair a Redis that is down. With several services `/readyz` reports all of them and is ready when each one is, and
 * `/readyz/{name}` reports one. Rejects with a StartError when it cannot listen.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const routes = routesOf(options);
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 });
  server.on("request", (request, response) => {
    request.resume(); // a body is read and forgotten
    const route = routes.get(request.url?.split("?")[0] ?? "");
    if (route === undefined) {
      sendJson(response, 404, { error: `there is only ${[...routes.keys()].join(", ")}` });
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

function routesOf({ services, metrics }: HealthServerOptions): ReadonlyMap<string, Route> {
  const isAlone = services.length === 1;
  const routes = new Map<string, Route>([
    ["/livez", async (response) => sendJson(response, 200, { status: "ok" })],
  ]);
  routes.set("/readyz", async (response) => {
    const reports = await Promise.all(services.map(reportOf));
    const [only] = reports;
    const { ready, ...shown } =
      isAlone && only !== undefined ? only.report : wholeOf(reports, metrics);
    sendJson(response, ready ? 200 : 503, shown);
  });
  if (!isAlone)
    for (const service of services)
      routes.set(`/readyz/${service.name}`, async (response) => {
        const { ready, ...shown } = (await reportOf(service)).report;
        sendJson(response, ready ? 200 : 503, shown);
      });
  routes.set("/metrics", async (response, accept) => {
    wholeOf(await Promise.all(services.map(reportOf)), metrics);
    const all = [...(metrics === null ? [] : [metrics]), ...services.map((one) => one.metrics)];
    const { contentType, text } = await metricsText(
      all.map(({ registry }) => registry),
      accept,
    );
    response.writeHead(200, { "content-type": contentType }).end(text);
  });
  return routes;
}

interface Reported {
  readonly name: string;
  readonly report: ReadinessReport;
}

async function reportOf({ name, readiness, metrics }: Observed): Promise<Reported> {
  const report = await readiness.report();
  metrics.setReady(report.ready);
  return { name, report };
}

/** The state of a process with several services: the first of `stopping`, `starting`, `not_ready` that one of them is in, else `ready`. */
function wholeOf(reports: readonly Reported[], metrics: Metrics | null) {
  const states = new Set(reports.map(({ report }) => report.status));
  const status =
    (["stopping", "starting", "not_ready"] as const).find((state) => states.has(state)) ?? "ready";
  const ready = status === "ready";
  metrics?.setReady(ready);
  const services = reports.map(({ name, report: { ready: _ready, ...shown } }) => [name, shown]);
  return { ready, status, services: Object.fromEntries(services) as object };
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
      hint: "set YARD_HEALTH_PORT to a port of this machine that is free, such as 8080 or 0.0.0.0:8080; port 0 takes any",
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
