import { setTimeout as wait } from "node:timers/promises";
import {
  SSEClientTransport,
  SseError,
  type FetchLike,
  type SSEClientTransportOptions,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { HttpAuth } from "../auth/connection-auth.ts";
import { noteRefusal } from "../auth/refused-token.ts";
import { within } from "../limits/within.ts";
import { bodyBound, tooLong, withBody } from "../network/bounded-body.ts";
import { createGuardedFetch } from "../network/guarded-fetch.ts";
import { createMessageBrake, type MessageBrake } from "./message-brake.ts";
import { StreamableTransport } from "./streamable-transport.ts";

const DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface HttpTransportOptions {
  /** `sse` is the transport of protocol 2024-11-05: one event stream, and a POST for each message. */
  readonly kind: "http" | "sse";
  readonly url: URL;
  /** Sent to the origin of `url` alone. */
  readonly headers: Readonly<Record<string, string>>;
  readonly guard: EgressGuard;
  readonly authProvider?: HttpAuth | undefined;
  readonly maxMessageBytes?: number;
}

export interface HttpTransport {
  readonly transport: StreamableTransport | SSEClientTransport;
  /** Why the connection ended by itself; null while nobody knows of an end. */
  describeEnd(): string | null;
  /** Ends the transport, after a word of farewell to the session, and every socket. Never rejects. */
  close(): Promise<void>;
}

const FAREWELL_MS = 1_000;

/**
 * The SDK's HTTP transports with a cap on one message and with guarded sockets. Redirects
 * stay within their origin, those of an authorization server's metadata too.
 */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const { url, headers, guard, authProvider } = options;
  const guarded = createGuardedFetch({ guard, own: { origin: url.origin, headers } });
  const shared = {
    redirectPolicy: "same-origin" as const,
    fetch: boundedFetch(guarded.fetch, options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES),
    ...(authProvider === undefined ? {} : { authProvider }),
  };
  const link = options.kind === "sse" ? sseLink(url, shared) : streamableLink(url, shared);
  return {
    ...link,
    async close() {
      await link.close();
      guarded.close();
    },
  };
}

function streamableLink(
  url: URL,
  options: StreamableHTTPClientTransportOptions & {
    readonly fetch: FetchLike;
    readonly authProvider?: HttpAuth;
  },
): HttpTransport & { readonly transport: StreamableTransport } {
  const { authProvider } = options;
  const transport = new StreamableTransport(url, {
    ...options,
    onWantedScope: async (scope) => authProvider?.onInsufficientScope(scope),
  });
  return {
    transport,
    describeEnd: () => null,
    async close() {
      // Politeness only: a server that is gone keeps no session, and one that hangs is not waited for.
      await within(
        FAREWELL_MS,
        transport.terminateSession().catch(() => undefined),
      );
      await transport.close();
    },
  };
}

/** The stream is the session: a second one would know nothing of the first, so its end is the end. */
function sseLink(url: URL, options: SSEClientTransportOptions): HttpTransport {
  const transport = new SSEClientTransport(url, options);
  let endReason: string | null = null;
  /** It has ended already, so how its close goes does not matter. */
  const closeQuietly = (): Promise<void> => transport.close().catch(() => undefined);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's transport is not an EventTarget
  transport.onerror = (error) => {
    if (!(error instanceof SseError) || endReason !== null) return;
    endReason = `the event stream ended: ${error.message}`;
    void closeQuietly();
  };
  return { transport, describeEnd: () => endReason, close: () => transport.close() };
}

function boundedFetch(fetch: FetchLike, maxBytes: number): FetchLike {
  const brake = createMessageBrake();
  return async (url, init) => {
    if (init?.method === "POST") for (let n = 0; n < EVENTS_OF_POST; n += 1) brake.expect();
    const response = await fetch(url, init);
    const bounded = boundedResponse(response, { maxBytes, brake });
    if (response.status === 401) noteRefusal(bounded, init?.headers);
    return bounded;
  };
}

interface Bounds {
  readonly maxBytes: number;
  /** Of the whole connection: many streams are not faster than one. */
  readonly brake: MessageBrake;
}

/** An answer, and what stands before it: the event that opens a stream which can be resumed. */
const EVENTS_OF_POST = 2;

function boundedResponse(response: Response, bounds: Bounds): Response {
  if (response.body === null) return response;
  const type = response.headers.get("content-type")?.toLowerCase();
  const isStream = type?.startsWith("text/event-stream") ?? false;
  return withBody(response, isStream ? eventBound(bounds) : bodyBound(bounds.maxBytes));
}

/**
 * Counts from one blank line to the next: an event stream may be endless, one event may not. Each
 * event goes on by itself, because the protocol layer handles an answer at once and a notification
 * one turn later: progress that came in one piece with its result would be forgotten.
 */
function eventBound({ maxBytes, brake }: Bounds): TransformStream<Uint8Array, Uint8Array> {
  let eventBytes = 0;
  let isLineEmpty = true;
  return new TransformStream({
    async transform(chunk, controller) {
      let start = 0; // of what was not passed on yet
      let line = 0;
      // Searched and not stepped through: a step for each byte took most of the time of a large answer.
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, line)) {
        const isBlank = isLineEmpty && isBlankBetween(chunk, line, end);
        isLineEmpty = true;
        line = end + 1;
        if (!isBlank) continue;
        brake.answer(eventBytes + line - start);
        eventBytes = 0;
        controller.enqueue(chunk.subarray(start, line));
        start = line;
      }
      isLineEmpty &&= isBlankBetween(chunk, line, chunk.length);
      eventBytes += chunk.length - start;
      if (eventBytes > maxBytes) controller.error(tooLong(maxBytes));
      else if (start < chunk.length) controller.enqueue(chunk.subarray(start));
      const pauseMs = brake.pauseMs();
      if (pauseMs > 0) await wait(pauseMs);
    },
  });
}

function isBlankBetween(chunk: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index += 1)
    if (chunk[index] !== CARRIAGE_RETURN) return false;
  return true;
}
