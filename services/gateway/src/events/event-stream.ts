/** One reader's stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export interface EventStream {
  readonly response: Response;
  /** False when the reader was too slow and is cut, or has gone: it goes on where it was with `Last-Event-ID`. */
  send(message: {
    readonly event?: string;
    readonly id?: number | string;
    readonly data: unknown;
  }): boolean;
  /** As `send`, for data that is text as it stands. */
  sendText(data: string): boolean;
  /** True when the reader has taken nearly all of what was sent. What may be lost is only sent then. */
  hasRoom(): boolean;
  /** Resolves when there is room or the stream is closed; a reader that takes nothing for a minute is cut. */
  room(): Promise<void>;
  /** Ends the stream after what is sent; `retryMs` tells the reader when to come again. */
  end(retryMs?: number): void;
  readonly closed: AbortSignal;
}

/** What a reader may be behind, in bytes, before it is cut; one message more than that is always taken. */
const MOST_BEHIND = 1024 * 1024;
/** What a reader may be behind before stored events wait for it. */
const ROOM = 64 * 1024;
const STALLED_MS = 60_000;
const HEARTBEAT_MS = 15_000;
const encoder = new TextEncoder();

export function openEventStream(): EventStream {
  const closing = new AbortController();
  let roomMade = Promise.withResolvers<void>();
  let sink: ReadableStreamDefaultController<Uint8Array> | null = null;
  const close = (cut: boolean): void => {
    if (closing.signal.aborted) return;
    clearInterval(heartbeat);
    // An error cuts the connection, so that nobody takes the end for the end of the events.
    if (cut) sink?.error(new Error("the reader is too slow"));
    else sink?.close();
    closing.abort();
    roomMade.resolve();
  };
  const behind = (): number => -(sink?.desiredSize ?? 0);
  const write = (text: string): boolean => {
    if (closing.signal.aborted || sink === null) return false;
    if (behind() > MOST_BEHIND) {
      close(true);
      return false;
    }
    sink.enqueue(encoder.encode(text));
    return true;
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => void (sink = controller),
      // Called when everything was taken.
      pull: () => {
        roomMade.resolve();
        roomMade = Promise.withResolvers();
      },
      cancel: () => {
        clearInterval(heartbeat);
        closing.abort();
        roomMade.resolve();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
  const heartbeat = setInterval(() => write(": ping\n\n"), HEARTBEAT_MS);
  write("retry: 1000\n\n");
  return {
    response: new Response(body, {
      headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" },
    }),
    send({ event, id, data }) {
      const lines = [
        ...(event === undefined ? [] : [`event: ${event}`]),
        ...(id === undefined ? [] : [`id: ${id}`]),
        `data: ${JSON.stringify(data)}`,
      ];
      return write(`${lines.join("\n")}\n\n`);
    },
    hasRoom: () => behind() <= ROOM,
    async room() {
      if (closing.signal.aborted || behind() <= ROOM) return;
      const stalled = setTimeout(() => close(true), STALLED_MS);
      await roomMade.promise;
      clearTimeout(stalled);
    },
    sendText: (data) => write(`data: ${data}\n\n`),
    end(retryMs) {
      if (retryMs !== undefined) write(`retry: ${retryMs}\n\n`);
      close(false);
    },
    closed: closing.signal,
  };
}
