import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Log } from "@switchyard/service/log";
import { StartError } from "@switchyard/service/start-error";
import type { Hono } from "hono";
import type { GatewayEnv } from "../identity/request-context.ts";
import { CONNECTION_LIMITS, guardConnections, type ConnectionLimits } from "./guard-connections.ts";
import { answerClientErrors } from "./refuse-connection.ts";
import { followTls, readTls, type TlsFiles } from "./tls-files.ts";

export interface HttpServer {
  /** The address with the real port. */
  readonly url: string;
  /** Accepts no more connections and requests; resolves when those in work have ended. */
  stop(): Promise<void>;
}

const CLOSE_EVERY_MS = 50;
/** The time for which a stop waits for the requests of connections that have sent none, or only a part. */
const REQUEST_WITHIN_MS = 1_000;
/** The interval at which the files of a certificate are checked. */
const RELOAD_MS = 10_000;
const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host);
}

/** The same for a `Host`, which may have a port. */
function isLoopbackHost(host: string): boolean {
  return isLoopback(host.replace(/:\d+$/, "").replace(/^\[|\]$/g, ""));
}

/**
 * Returns the check for the gateway's own `Host` and `Origin`: the configured names, with or without a port, and those of
 * loopback, under which a forwarded port is reached. Throws a StartError for an address that is reachable from outside without a configured name: then no request
 * could be distinguished from one of a foreign page.
 */
export function knownHosts(bound: string, named: readonly string[]): (host: string) => boolean {
  if (!isLoopback(bound) && named.length === 0)
    throw new StartError(
      `the address in YARD_HTTP_PORT is ${bound}, which others reach, and YARD_HTTP_HOSTS is empty`,
      {
        hint: "name the hosts in YARD_HTTP_HOSTS, such as switchyard.example.com, and use TLS, here or in front; or stay on 127.0.0.1",
      },
    );
  const known = new Set(named);
  return (host) => isLoopbackHost(host) || known.has(host) || known.has(host.replace(/:\d+$/, ""));
}

/** True for pages of this gateway. Pages of programs on a person's machine may use the gateway of that machine, and none elsewhere. */
export function isOwnOrigin(
  origin: string,
  host: string,
  isKnownHost: (host: string) => boolean,
): boolean {
  return isKnownHost(origin) && (!isLoopbackHost(origin) || isLoopbackHost(host));
}

/** Rejects with a StartError when it cannot listen. */
export async function listenHttp(
  app: Hono<GatewayEnv>,
  {
    host,
    port,
    tls = null,
    headersMs = 10_000,
    connections = CONNECTION_LIMITS,
  }: {
    readonly host: string;
    readonly port: number;
    /** Null: plain HTTP. */
    readonly tls?: {
      readonly files: TlsFiles;
      readonly log: Log;
      readonly everyMs?: number;
    } | null;
    /** The time that a client may need to send the headers. */
    readonly headersMs?: number;
    readonly connections?: ConnectionLimits;
  },
): Promise<HttpServer> {
  const limits = {
    headersTimeout: headersMs,
    // The connection guard limits the time of a request by its size.
    requestTimeout: 0,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: Math.min(5_000, headersMs),
    maxHeaderSize: 32 * 1024,
  };
  const texts = tls === null ? null : await readTls(tls.files);
  const secure =
    texts === null ? null : createTlsServer({ ...limits, ...texts, handshakeTimeout: headersMs });
  const server = secure ?? createServer(limits);
  server.maxHeadersCount = 100;
  const unguard = guardConnections(server, connections);
  const unused = unusedConnections(server, secure === null ? "connection" : "secureConnection");
  answerClientErrors(server);
  const answer = getRequestListener(app.fetch);
  server.on("request", (request, response) => void answer(request, response));
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    throw new StartError(`cannot listen for HTTP on ${host}:${port}`, {
      hint: "choose another YARD_HTTP_PORT, or 0 for any free one",
      cause,
    });
  });
  const unfollow =
    tls === null || texts === null || secure === null
      ? null
      : followTls(secure, { everyMs: RELOAD_MS, ...tls, texts });
  const shown = host.includes(":") ? `[${host}]` : host;
  const scheme = secure === null ? "http" : "https";
  return {
    url: `${scheme}://${shown}:${portOf(server)}`,
    stop: async () => {
      unfollow?.();
      await close(server, unused);
      unguard();
    },
  };
}

async function close(server: Server, unused: () => Iterable<Socket>): Promise<void> {
  const closed = once(server, "close");
  server.close();
  const begunAt = performance.now();
  // Connections that are kept alive become idle when their last request ends.
  const closing = setInterval(() => {
    server.closeIdleConnections();
    // For Node.js these are not idle, and a closed server no longer limits their time: browsers open such connections in advance.
    if (performance.now() - begunAt > REQUEST_WITHIN_MS)
      for (const socket of unused()) socket.destroy();
  }, CLOSE_EVERY_MS);
  await closed;
  clearInterval(closing);
}

/** Returns a function that lists the connections on which no request is in work. */
function unusedConnections(
  server: Server,
  event: "connection" | "secureConnection",
): () => Iterable<Socket> {
  const sockets = new Set<Socket>();
  const responses = new Set<ServerResponse>();
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("request", (_, response) => {
    responses.add(response);
    response.once("close", () => responses.delete(response));
  });
  return () => {
    const inWork = new Set([...responses].map(({ req }) => req.socket));
    return [...sockets].filter((socket) => !inWork.has(socket));
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null)
    throw new TypeError("the server has no port");
  return address.port;
}
