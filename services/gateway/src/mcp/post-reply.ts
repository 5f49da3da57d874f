import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";

/** Answers that take longer are sent as a stream, with heartbeats. */
const SOON_MS = 2_000;
const HEARTBEAT_MS = 15_000;
const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

const encoder = new TextEncoder();

/**
 * The reply to the requests of one POST: plain JSON for a single answer that comes soon, and otherwise a stream of all messages
 * about them. The protocol lets the server choose, and a stream of one message doubles the cost of a call for client and server.
 */
export class PostReply {
  readonly response: Promise<Response>;
  readonly #resolve: (response: Response) => void;
  readonly #unanswered: Set<RequestId>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #onEnd: () => void;
  readonly #isSingle: boolean;
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /**
   * `onEnd` is called when the reply accepts no more messages: its requests are answered, or the client has disconnected. A client that
   * does not read streams gets its late answer as JSON, too.
   */
  constructor(
    requests: readonly RequestId[],
    headers: Readonly<Record<string, string>>,
    { onEnd, readsStreams }: { readonly onEnd: () => void; readonly readsStreams: boolean },
  ) {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
    this.#unanswered = new Set(requests);
    this.#isSingle = requests.length === 1;
    this.#headers = headers;
    this.#onEnd = onEnd;
    this.#timer = readsStreams ? setTimeout(() => this.#open(), SOON_MS) : undefined;
  }

  /** Sends the answer to one of the requests. What comes after the end is dropped. */
  answer(id: RequestId, message: JSONRPCMessage): void {
    if (this.#isOver) return;
    if (this.#isSingle && this.#stream === null) {
      this.#finish();
      const headers = { "content-type": "application/json", ...this.#headers };
      this.#resolve(new Response(JSON.stringify(message), { status: 200, headers }));
      return;
    }
    this.notify(message);
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.end();
  }

  /** Sends a notification or a question about one of the requests. */
  notify(message: JSONRPCMessage): void {
    if (this.#isOver) return;
    const text = `event: message\ndata: ${JSON.stringify(message)}\n\n`;
    this.#open().enqueue(encoder.encode(text));
  }

  /** Ends the reply, even when requests have no answer: the session is over. */
  end(): void {
    if (this.#isOver) return;
    const stream = this.#open();
    this.#finish();
    stream.close();
  }

  #open(): ReadableStreamDefaultController<Uint8Array> {
    return (this.#stream ??= this.#newStream());
  }

  #newStream(): ReadableStreamDefaultController<Uint8Array> {
    let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (stream = controller),
      cancel: () => this.#finish(),
    });
    if (stream === undefined) throw new TypeError("a stream has not started");
    const opened = stream;
    clearTimeout(this.#timer);
    const heartbeat = encoder.encode(": keepalive\n\n");
    this.#timer = setInterval(() => opened.enqueue(heartbeat), HEARTBEAT_MS).unref();
    const headers = { ...STREAM_HEADERS, ...this.#headers };
    this.#resolve(new Response(body, { status: 200, headers }));
    return opened;
  }

  #finish(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#onEnd();
  }
}
