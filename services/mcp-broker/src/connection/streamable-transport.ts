import {
  InsufficientScopeError,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type FetchLike,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type StreamableHTTPClientTransportOptions,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { atTheLogin } from "../limits/call-failure.ts";
import type { MessageReader } from "../normalise/message-reader.ts";
import type { PollPace } from "./poll-pace.ts";
import { posting, type PostedRequest } from "./posted-request.ts";

/** The status that answers messages which need no answer. */
const ACCEPTED = 202;

interface OpenRequest {
  /** No answer is expected any more. */
  settle(): void;
  /** Ends its stream, and the attempts to resume it. */
  giveUp(): void;
}

export interface StreamableOptions extends StreamableHTTPClientTransportOptions {
  /** Called when the login has too few scopes; its error ends the request. */
  readonly onWantedScope: (scope: string | undefined) => Promise<void>;
  readonly fetch: FetchLike;
  readonly messages: MessageReader;
  readonly pace: PollPace;
}

/**
 * The SDK's Streamable HTTP, in which a request whose stream ends before its answer fails at once, and one whose POST is answered
 * without a stream and without its answer. The SDK detects these ends and reports the first for subscriptions alone, so that a
 * call would wait until its timeout. A stream with event ids is resumed first, after the time that the server names.
 */
export class StreamableTransport extends StreamableHTTPClientTransport {
  readonly #open = new Map<RequestId, OpenRequest>();
  readonly #timers: Set<NodeJS.Timeout>;
  readonly #onWantedScope: StreamableOptions["onWantedScope"];
  readonly #messages: MessageReader;
  #trouble: string | null = null;

  constructor(url: URL, { onWantedScope, messages, pace, ...options }: StreamableOptions) {
    const timers = new Set<NodeJS.Timeout>();
    const delayOf = (wantedMs: number): number =>
      pace.delayMs(wantedMs, { isAwaited: this.#open.size > 0 });
    super(url, {
      ...options,
      fetch: noting(options.fetch),
      reconnectionScheduler: scheduleIn(timers, delayOf),
    });
    this.#messages = messages;
    this.#timers = timers;
    this.#onWantedScope = onWantedScope;
    // The protocol layer keeps these two and calls them before its own.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's transport is not an EventTarget
    this.onmessage = (message) => this.#receive(message);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is not an EventTarget
    this.onerror = (error) => this.#keep(error);
  }

  /** Resolves, for a request, when it was answered or given up, and rejects when its answer is lost. */
  override async send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options: TransportSendOptions = {},
  ): Promise<void> {
    try {
      return await this.#send(message, options);
    } catch (error) {
      if (!(error instanceof InsufficientScopeError)) throw error;
      await this.#onWantedScope(error.requiredScope).catch((reason: unknown) => {
        throw atTheLogin(reason);
      });
      throw atTheLogin(error);
    }
  }

  async #send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options: TransportSendOptions,
  ): Promise<void> {
    if (Array.isArray(message)) return super.send(message, sendable(options));
    this.#messages.sent(message);
    if (isJSONRPCRequest(message) && options.onRequestStreamEnd === undefined)
      return this.#ask(message, options);
    try {
      await super.send(message, sendable(options));
    } finally {
      this.#open.get(cancelledBy(message) ?? "")?.giveUp();
    }
  }

  override async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const request of this.#open.values()) request.settle();
    await super.close();
  }

  async #ask(request: JSONRPCRequest, options: TransportSendOptions): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own = new AbortController();
    // 2026-07-28 cancels by ending the stream itself; before it the stream would stay open.
    const signal = options.requestSignal ?? own.signal;
    signal.addEventListener("abort", () => resolve(), { once: true });
    const { id, method } = request;
    this.#open.set(id, { settle: resolve, giveUp: () => own.abort() });
    const post: PostedRequest = { id, method, status: 0, isStream: false };
    try {
      await posting.run(post, () =>
        super.send(request, {
          ...sendable(options),
          requestSignal: signal,
          onRequestStreamEnd: () => reject(lost(this.#trouble)),
        }),
      );
      // An answer that arrived has settled the request already, and then this changes nothing.
      if (!post.isStream || post.status === ACCEPTED) reject(unanswered(post.status));
      await promise;
    } finally {
      this.#open.delete(id);
      this.#messages.settled(id);
    }
  }

  #receive(message: JSONRPCMessage): void {
    if (!isJSONRPCResultResponse(message) && !isJSONRPCErrorResponse(message)) return;
    if (message.id !== undefined) this.#open.get(message.id)?.settle();
  }

  /** The end of a stream is reported in the same turn as the error that ended it. */
  #keep(error: Error): void {
    this.#trouble = error.message;
    queueMicrotask(() => (this.#trouble = null));
  }
}

function lost(trouble: string | null): SdkError {
  const what = "the stream of the answer ended before the answer";
  return new SdkError(
    SdkErrorCode.ConnectionClosed,
    trouble === null ? what : `${what}: ${trouble}`,
  );
}

/** By the specification a request is answered where it was sent: no other stream will have it. */
function unanswered(status: number): SdkError {
  return new SdkError(
    SdkErrorCode.ConnectionClosed,
    `the server answered HTTP ${status} without an answer to the request`,
  );
}

function noting(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const post = posting.getStore();
    if (post !== undefined && init?.method === "POST") {
      const type = response.headers.get("content-type")?.toLowerCase();
      post.status = response.status;
      post.isStream = response.ok && (type?.startsWith("text/event-stream") ?? false);
    }
    return response;
  };
}

/** The SDK's transport takes fewer options than its interface, and none that is undefined. */
function sendable(options: TransportSendOptions) {
  const { resumptionToken, onresumptiontoken, requestSignal, onRequestStreamEnd, headers } =
    options;
  return {
    ...(resumptionToken === undefined ? {} : { resumptionToken }),
    ...(onresumptiontoken === undefined ? {} : { onresumptiontoken }),
    ...(requestSignal === undefined ? {} : { requestSignal }),
    ...(onRequestStreamEnd === undefined ? {} : { onRequestStreamEnd }),
    ...(headers === undefined ? {} : { headers }),
  };
}

function cancelledBy(message: JSONRPCMessage): RequestId | null {
  if (!isJSONRPCNotification(message) || message.method !== "notifications/cancelled") return null;
  const id = message.params?.["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : null;
}

/** One timer for each stream: the SDK remembers the last one alone. */
function scheduleIn(timers: Set<NodeJS.Timeout>, delayOf: (wantedMs: number) => number) {
  return (reconnect: () => void, delayMs: number): (() => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      reconnect();
    }, delayOf(delayMs));
    timers.add(timer);
    return () => clearTimeout(timer);
  };
}
