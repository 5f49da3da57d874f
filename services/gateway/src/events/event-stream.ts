import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";

/** One reader's stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export interface EventStream {
  /** The response that the handler returns. */
  readonly response: Response;
  /** False when the reader was too slow and is cut, or has disconnected: it resumes with `Last-Event-ID`. */
  send(message: {
    readonly event?: string;
    readonly id?: number | string;
    readonly data: unknown;
  }): boolean;
  /** Like `send`, for data that is already text. */
  sendText(data: string): boolean;
  /** Sends one line that parsers of events ignore. */
  comment(text: string): void;
  /** True when the reader has received nearly all of the sent data. Data that may be lost is only sent then. */
  hasRoom(): boolean;
  /** Resolves when there is room or the stream is closed; a reader that accepts nothing for a minute is cut. */
  room(): Promise<void>;
  /** Ends the stream after the data that was sent. */
  end(): void;
  readonly isClosed: boolean;
  /** The listener is called once, immediately if the stream is already closed. Returns a function that removes it. */
  onClose(listener: () => void): () => void;
}

/** The bytes that a reader may be behind before it is cut; one message more than that is always accepted. */
const MOST_BEHIND = 1024 * 1024;
/** The bytes that a reader may be behind before stored events wait for it. */
const ROOM = 64 * 1024;
const STALLED_MS = 60_000;
const HEARTBEAT_MS = 15_000;

/**
 * The heartbeats of all open streams. Thousands of readers are idle most of the time, so each costs a socket and an entry here,
 * without a timer or a web stream of its own.
 */
const beating = new Set<() => void>();
let heartbeat: NodeJS.Timeout | undefined;

/** Each event is sent at once. The window is small: a stream of events repeats its last ones, and there may be many readers. */
const PACKING = { level: 1, windowBits: 13, memLevel: 5, flush: constants.Z_SYNC_FLUSH };

/**
 * Begins the answer. It is written to the socket as it arrives, past the framework. `isPacked` compresses it. With `retryMs` the first record sets the
 * delay after which a reader that is cut reconnects. Each record has data, and the heartbeat is a comment: clients of protocols
 * parse every record.
 */
export function openEventStream(
  outgoing: ServerResponse,
  { retryMs, isPacked = false }: { readonly retryMs?: number; readonly isPacked?: boolean } = {},
): EventStream {
  const packer = isPacked ? createGzip(PACKING) : null;
  const sink = packer ?? outgoing;
  const bytesBehind = (): number => outgoing.writableLength + (packer?.writableLength ?? 0);
  packer?.pipe(outgoing);
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
    if (outgoing.destroyed) packer?.destroy();
  };
  const write = (text: string): boolean => {
    if (isClosed) return false;
    if (bytesBehind() > MOST_BEHIND) {
      // A regular end would look like the end of the events.
      cut();
      return false;
    }
    sink.write(text);
    return true;
  };
  const beat = (): void => void write(": ping\n\n");
  const onClose = (listener: () => void): (() => void) => {
    if (isClosed) listener();
    else listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const cut = (): void => {
    outgoing.destroy();
    close();
  };
  const end = (): void => {
    if (isClosed) return;
    sink.end();
    close();
  };

  const headers = headersOf(isPacked);
  // The framework answers a HEAD request itself, with the headers alone.
  const isHead = outgoing.req.method === "HEAD";
  if (isHead) isClosed = true;
  else {
    outgoing.once("close", close);
    // The headers are sent at once, so that the reader sees the open stream before its first record.
    outgoing.writeHead(200, headers).flushHeaders();
    startBeating(beat);
  }
  return {
    response: isHead ? new Response(null, { headers }) : RESPONSE_ALREADY_SENT,
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
    hasRoom: () => bytesBehind() <= ROOM,
    async room() {
      if (isClosed || bytesBehind() <= ROOM) return;
      await drained(sink, { onClose, cut });
    },
    end,
    get isClosed() {
      return isClosed;
    },
    onClose,
  };
}

function headersOf(isPacked: boolean): Record<string, string> {
  return {
    "content-type": "text/event-stream",
    "x-accel-buffering": "no",
    ...(isPacked && { "content-encoding": "gzip" }),
  };
}

/** Waits until a reader has accepted what was sent, or its stream is closed; cuts one that accepts nothing. */
async function drained(
  sink: Writable,
  { onClose, cut }: Pick<EventStream, "onClose"> & { readonly cut: () => void },
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stalled = setTimeout(cut, STALLED_MS);
  sink.once("drain", resolve);
  const stop = onClose(resolve);
  await promise;
  clearTimeout(stalled);
  sink.off("drain", resolve);
  stop();
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
