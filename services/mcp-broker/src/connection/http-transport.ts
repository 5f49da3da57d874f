import { setTimeout as wait } from "node:timers/promises";
import {
  SSEClientTransport,
  SseError,
  type FetchLike,
  type SSEClientTransportOptions,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { within } from "@switchyard/contracts/timeouts";
import { type HttpAuth, noteRefusal } from "../auth/connection-auth.ts";
import { bodyBound, tooLong, withBody } from "../network/bounded-body.ts";
import { createGuardedFetch } from "../network/guarded-fetch.ts";
import { MessageReader } from "../normalise/message-reader.ts";
import { normalBody, normalEvent } from "./answer-body.ts";
import { createMessageRateLimit, type MessageRateLimit } from "./message-rate-limit.ts";
import { createPollPace, type PollPace } from "./poll-pace.ts";
import { posting, type PostedRequest } from "./posted-request.ts";
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
  /** Called once for each finding about the form of a message. */
  readonly onFinding?: (problem: string) => void;
}

export interface HttpTransport {
  readonly transport: StreamableTransport | SSEClientTransport;
  /** Returns the reason why the connection ended by itself; null while no end is known. */
  describeEnd(): string | null;
  /** Ends the transport and every socket, after ending the session at the server. Never rejects. */
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
  const messages = new MessageReader(options.onFinding);
  const pace = createPollPace(() => performance.now());
  const maxBytes = options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES;
  const bounds: Bounds = { maxBytes, rateLimit: createMessageRateLimit(), messages, pace };
  const shared = {
    redirectPolicy: "same-origin" as const,
    fetch: readingFetch(guarded.fetch, bounds, options),
    ...(authProvider === undefined ? {} : { authProvider }),
  };
  const link =
    options.kind === "sse"
      ? sseLink(url, shared, messages)
      : streamableLink(url, { ...shared, messages, pace });
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
    readonly messages: MessageReader;
    readonly pace: PollPace;
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
      // This is a courtesy: a server that is gone keeps no session, and the close does not wait for one that hangs.
      await within(
        transport.terminateSession().catch(() => undefined),
        { ms: FAREWELL_MS },
      );
      await transport.close();
    },
  };
}

/** The stream is the session: a second one would have no state of the first, so its end is the end. */
function sseLink(
  url: URL,
  options: SSEClientTransportOptions,
  messages: MessageReader,
): HttpTransport {
  const transport = new SSEClientTransport(url, options);
  const send = transport.send.bind(transport);
  transport.send = (message) => {
    messages.sent(message);
    return send(message);
  };
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

interface Bounds {
  readonly maxBytes: number;
  /** Shared by the whole connection: many streams are not faster than one. */
  readonly rateLimit: MessageRateLimit;
  readonly messages: MessageReader;
  readonly pace: PollPace;
}

/** Bounds what a server sends, and brings it into the form that MCP prescribes. */
function readingFetch(
  fetch: FetchLike,
  bounds: Bounds,
  { kind, url: own }: Pick<HttpTransportOptions, "kind" | "url">,
): FetchLike {
  const { rateLimit, messages, pace } = bounds;
  return async (url, init) => {
    const isPost = init?.method === "POST";
    // The parts of a login come here, too, while a request waits for it.
    const isOwn = new URL(url).href === own.href;
    if (isPost) for (let n = 0; n < EVENTS_OF_POST; n += 1) rateLimit.expect();
    const response = await fetch(url, init);
    if (isEventStream(response)) {
      if (!isPost) pace.opened();
      const onEvent = isPost ? () => undefined : () => pace.received();
      return withBody(response, eventsOf({ ...bounds, posted: posting.getStore(), onEvent }));
    }
    if (kind === "http" && isOwn && init?.method === "GET" && response.ok) {
      await response.body?.cancel();
      // By the specification a server without such a stream answers so; any other answer would be polled for ever.
      return new Response(null, { status: NO_STREAM });
    }
    const bounded = withBody(response, bodyBound(bounds.maxBytes));
    const posted = posting.getStore();
    if (response.status === 401) noteRefusal(bounded, init?.headers);
    if (!isPost || !isOwn || posted === undefined) return bounded;
    const hasSession = new Headers(init.headers).has("mcp-session-id");
    return normalBody(bounded, { messages, posted, hasSession });
  };
}

const NO_STREAM = 405;
/** An answer, and the event before it, which opens a stream that can be resumed. */
const EVENTS_OF_POST = 2;

function isEventStream({ ok, headers }: Response): boolean {
  const type = headers.get("content-type")?.toLowerCase();
  return ok && (type?.startsWith("text/event-stream") ?? false);
}

/**
 * Cuts a stream into its events, from one blank line to the next: an event stream may be endless, one event may not. Each event
 * is forwarded by itself, because the protocol layer handles an answer at once and a notification one turn later: progress in one
 * chunk with its result would be dropped.
 */
function eventsOf(
  options: Bounds & { readonly posted: PostedRequest | undefined; readonly onEvent: () => void },
): TransformStream<Uint8Array, Uint8Array> {
  const { maxBytes, rateLimit, messages, posted, onEvent } = options;
  let parts: Uint8Array[] = [];
  let eventBytes = 0;
  let isLineEmpty = true;
  const add = (part: Uint8Array): void => {
    eventBytes += part.length;
    if (part.length > 0) parts.push(part);
  };
  const take = (): Uint8Array => {
    const event = Buffer.concat(parts, eventBytes);
    rateLimit.answer(eventBytes);
    parts = [];
    eventBytes = 0;
    const text = event.toString("utf8");
    const formed = normalEvent(text, messages, posted);
    if (/^data:/m.test(text)) onEvent();
    return formed === text ? event : Buffer.from(formed);
  };
  return new TransformStream({
    async transform(chunk, controller) {
      let start = 0; // of what belongs to no event yet
      let line = 0;
      // Searched and not stepped through: a step for each byte took most of the time of a large answer.
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, line)) {
        const isBlank = isLineEmpty && isBlankBetween(chunk, line, end);
        isLineEmpty = true;
        line = end + 1;
        if (!isBlank) continue;
        add(chunk.subarray(start, line));
        if (eventBytes > maxBytes) break;
        controller.enqueue(take());
        start = line;
      }
      isLineEmpty &&= isBlankBetween(chunk, line, chunk.length);
      add(chunk.subarray(start));
      if (eventBytes > maxBytes) {
        parts = [];
        controller.error(tooLong(maxBytes));
      }
      const pauseMs = rateLimit.pauseMs();
      if (pauseMs > 0) await wait(pauseMs);
    },
    flush(controller) {
      // Some servers end a stream without the blank line after its last event.
      if (eventBytes === 0) return;
      parts.push(BLANK_LINE);
      eventBytes += BLANK_LINE.length;
      controller.enqueue(take());
    },
  });
}

const BLANK_LINE = Buffer.from("\n\n");

function isBlankBetween(chunk: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index += 1)
    if (chunk[index] !== CARRIAGE_RETURN) return false;
  return true;
}
