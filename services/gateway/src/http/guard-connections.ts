import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { limitedAddress, plainAddress } from "../identity/client-address.ts";
import { refuseSlow } from "./refuse-connection.ts";

export interface ConnectionLimits {
  /** The limit of connections at a time. */
  readonly all: number;
  /** The limit for one address; null behind a proxy, whose address all connections have. */
  readonly perAddress: number | null;
  /** The time for which a sender may be slower than `bytesPerSecond`. */
  readonly graceMs: number;
  /** The time for which a reader may be slower than `bytesPerSecond`. */
  readonly readerGraceMs: number;
  readonly bytesPerSecond: number;
  /** The limit of unread answers of all clients together; above it the client with the most is cut. */
  readonly unreadBytes: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  all: 20_000,
  perAddress: 2_000,
  graceMs: 10_000,
  readerGraceMs: 30_000,
  bytesPerSecond: 8 * 1024,
  unreadBytes: 64 * 1024 * 1024,
};

/** A request under way, and how many bytes of it and its answer have been transferred. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  readonly startedAt: number;
  readonly readBefore: number;
  /** The bytes that wait for the client and have a deadline; null: none wait. */
  waiting: { readonly since: number; readonly bytes: number; readonly takenBefore: number } | null;
}

const CHECK_MS = 1_000;

/**
 * Cuts clients that hold memory or connections by sending or reading slowly, and refuses connections beyond the limits. Node's
 * own limit is one time for a whole request, which is too long for a small one and too short for an archive. Returns a function
 * that ends the guard.
 */
export function guardConnections(server: Server, limits: ConnectionLimits): () => void {
  const exchanges = new Set<Exchange>();
  server.maxConnections = limits.all;
  if (limits.perAddress !== null) limitAddresses(server, limits.perAddress);
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const exchange: Exchange = {
      request,
      response,
      socket,
      startedAt: performance.now(),
      readBefore: socket.bytesRead,
      waiting: null,
    };
    exchanges.add(exchange);
    socket.once("close", () => exchanges.delete(exchange));
    response.once("close", () => {
      if (request.complete) exchanges.delete(exchange);
    });
    request.once("close", () => {
      if (response.closed) exchanges.delete(exchange);
    });
  });
  const check = setInterval(
    () => {
      const now = performance.now();
      for (const exchange of exchanges) {
        if (sendsSlowly(exchange, limits, now)) refuseSlow(exchange.socket, exchange.response);
        else if (readsSlowly(exchange, limits, now)) exchange.socket.destroy();
      }
      cutLargest(exchanges, limits.unreadBytes);
    },
    Math.min(CHECK_MS, limits.graceMs / 2),
  ).unref();
  return () => clearInterval(check);
}

function limitAddresses(server: Server, limit: number): void {
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = limitedAddress(plainAddress(socket.remoteAddress ?? ""));
    const count = (open.get(address) ?? 0) + 1;
    if (count > limit) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}

function sendsSlowly(
  { request, response, socket, startedAt, readBefore }: Exchange,
  { graceMs, bytesPerSecond }: ConnectionLimits,
  now: number,
): boolean {
  // While bytes wait here, the gateway itself is slow.
  if (request.complete || request.readableLength > 0) return false;
  const overMs = now - startedAt - graceMs;
  if (overMs <= 0) return false;
  // The rest of a body whose request was already answered is read only for a short time.
  if (response.writableFinished) return true;
  return socket.bytesRead - readBefore < (overMs / 1_000) * bytesPerSecond;
}

/** Counts only while bytes wait for the client: an idle stream of events has nothing to read. */
function readsSlowly(
  exchange: Exchange,
  { readerGraceMs, bytesPerSecond }: ConnectionLimits,
  now: number,
): boolean {
  const { socket, waiting } = exchange;
  const taken = socket.bytesWritten - socket.writableLength;
  // One write counts as waiting until its last byte has left, so its bytes have one deadline.
  if (waiting === null || taken - waiting.takenBefore >= waiting.bytes) {
    const bytes = socket.writableLength;
    exchange.waiting = bytes === 0 ? null : { since: now, bytes, takenBefore: taken };
    return false;
  }
  return now - waiting.since > readerGraceMs + (waiting.bytes / bytesPerSecond) * 1_000;
}

function cutLargest(exchanges: ReadonlySet<Exchange>, limit: number): void {
  const unread = [...exchanges].map(({ socket }) => ({ socket, bytes: socket.writableLength }));
  let all = unread.reduce((sum, { bytes }) => sum + bytes, 0);
  if (all <= limit) return;
  for (const { socket, bytes } of unread.toSorted((a, b) => b.bytes - a.bytes)) {
    if (all <= limit) return;
    socket.destroy();
    all -= bytes;
  }
}
