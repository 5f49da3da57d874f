import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";

/** One reader's stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export interface EventStream {
  /** For the handler to return. */
  readonly response: Response;
  /** False when the reader was too slow and is cut, or has gone: it goes on where it was with `Last-Event-ID`. */
  send(message: {
    readonly event?: string;
    readonly id?: number | string;
    readonly data: unknown;
  }): boolean;
  /** As `send`, for data that is text as it stands. */
  sendText(data: string): boolean;
  /** Sends one line that parsers of events ignore. */
  comment(text: string): void;
  /** True when the reader has taken nearly all of what was sent. What may be lost is only sent then. */
  hasRoom(): boolean;
  /** Resolves when there is room or the stream is closed; a reader that takes nothing for a minute is cut. */
  room(): Promise<void>;
  /** Ends the stream after what is sent. */
  end(): void;
  readonly isClosed: boolean;
  /** Called once, at once when the stream is closed by now. Returns what takes the listener back. */
  onClose(listener: () => void): () => void;
}

/** What a reader may be behind, in bytes, before it is cut; one message more than that is always taken. */
const MOST_BEHIND = 1024 * 1024;
/** What a reader may be behind before stored events wait for it. */
const ROOM = 64 * 1024;
const STALLED_MS = 60_000;
const HEARTBEAT_MS = 15_000;

/** Thousands of readers wait most of the time: each is a socket and what it is to hear, without a timer or a stream of the web's kind. */
const beating = new Set<() => void>();
let heartbeat: NodeJS.Timeout | undefined;

/**
 * Begins the answer. It is written to the socket as it comes, past the framework. With `retryMs` the first record says after how long
 * a reader that is cut connects again. Each record has data, and what keeps the connection alive is a comment: clients of protocols parse every record.
 */
export function openEventStream(
  outgoing: ServerResponse,
  { retryMs }: { readonly retryMs?: number } = {},
): EventStream {
  const listeners = new Set<() => void>();
  let isClosed = false;
  let retry = retryMs === undefined ? "" : `retry: ${retryMs}\n`;
  const record = (lines: string): boolean => {
    const text = `${retry}${lines}\n\n`;
    retry = "";
    return write(text);
  };
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    stopBeating(beat);
    for (const listener of listeners) listener();
    listeners.clear();
  };
  const write = (text: string): boolean => {
    if (isClosed) return false;
    if (outgoing.writableLength > MOST_BEHIND) {
      // An end would be taken for the end of the events.
      outgoing.destroy();
      close();
      return false;
    }
    outgoing.write(text);
    return true;
  };
  const beat = (): void => void write(": ping\n\n");
  const onClose = (listener: () => void): (() => void) => {
    if (isClosed) listener();
    else listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const room = async (): Promise<void> => {
    if (isClosed || outgoing.writableLength <= ROOM) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stalled = setTimeout(() => {
      outgoing.destroy();
      close();
    }, STALLED_MS);
    outgoing.once("drain", resolve);
    const stop = onClose(resolve);
    await promise;
    clearTimeout(stalled);
    outgoing.off("drain", resolve);
    stop();
  };
  const end = (): void => {
    if (isClosed) return;
    outgoing.end();
    close();
  };

  outgoing.once("close", close);
  outgoing.writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
  // The reader learns that the stream is open, whenever its first record comes.
  outgoing.flushHeaders();
  startBeating(beat);
  // Only the head is asked for.
  if (outgoing.req.method === "HEAD") end();
  return {
    response: RESPONSE_ALREADY_SENT,
    send({ event, id, data }) {
      const lines = [
        ...(event === undefined ? [] : [`event: ${event}`]),
        ...(id === undefined ? [] : [`id: ${id}`]),
        `data: ${JSON.stringify(data)}`,
      ];
      return record(lines.join("\n"));
    },
    sendText: (data) => record(`data: ${data}`),
    comment: (text) => void write(`: ${text}\n\n`),
    hasRoom: () => outgoing.writableLength <= ROOM,
    room,
    end,
    get isClosed() {
      return isClosed;
    },
    onClose,
  };
}

function startBeating(beat: () => void): void {
  beating.add(beat);
  heartbeat ??= setInterval(() => {
    for (const one of beating) one();
  }, HEARTBEAT_MS);
}

function stopBeating(beat: () => void): void {
  beating.delete(beat);
  if (beating.size > 0) return;
  clearInterval(heartbeat);
  heartbeat = undefined;
}
