import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { StartError } from "@switchyard/service/start-error";
import type { Hono } from "hono";
import type { GatewayEnv } from "../identity/request-context.ts";

export interface HttpServer {
  /** With the real port. */
  readonly url: string;
  /** Takes no more connections and requests; resolves when those in work have ended. */
  stop(): Promise<void>;
}

const CLOSE_EVERY_MS = 50;
const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host);
}

/**
 * Which `Host` and `Origin` are the gateway's own: those that are named, with or without a port, and on loopback its own names. Throws
 * a StartError for an address that others reach without a name for it: then no request could be told from one of a foreign page.
 */
export function knownHosts(bound: string, named: readonly string[]): (host: string) => boolean {
  if (!isLoopback(bound) && named.length === 0)
    throw new StartError(
      `YARD_HTTP_HOST is ${bound}, which others reach, and YARD_HTTP_HOSTS names nobody`,
      {
        hint: "name the hosts in YARD_HTTP_HOSTS, such as switchyard.example.com, and put TLS in front; or stay on 127.0.0.1",
      },
    );
  const known = new Set(isLoopback(bound) ? [...LOOPBACK, "[::1]", ...named] : named);
  return (host) => known.has(host) || known.has(host.replace(/:\d+$/, ""));
}

/** Rejects with a StartError when it cannot listen. */
export async function listenHttp(
  app: Hono<GatewayEnv>,
  {
    host,
    port,
    headersMs = 10_000,
    requestMs = 60_000,
  }: {
    readonly host: string;
    readonly port: number;
    /** How long somebody may take to send the headers, and the whole request. */
    readonly headersMs?: number;
    readonly requestMs?: number;
  },
): Promise<HttpServer> {
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: Math.min(5_000, headersMs),
    maxHeaderSize: 32 * 1024,
  });
  server.maxHeadersCount = 100;
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  server.on("request", (request, response) => void answer(request, response));
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    throw new StartError(`cannot listen for HTTP on ${host}:${port}`, {
      hint: "choose another YARD_HTTP_PORT, or 0 for any free one",
      cause,
    });
  });
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${portOf(server)}`, stop: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  // Connections that are kept alive become idle when their last request ends.
  const closing = setInterval(() => server.closeIdleConnections(), CLOSE_EVERY_MS);
  await closed;
  clearInterval(closing);
}

function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null)
    throw new TypeError("the server has no port");
  return address.port;
}
