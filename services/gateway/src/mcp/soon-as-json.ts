import type { ServerResponse } from "node:http";

/** Answers that take longer are sent as a stream, with heartbeats. */
const SOON_MS = 2_000;
/** A stream with one answer alone, as the SDK writes it. */
const ALONE = /^event: message\ndata: (.*)\n\n$/s;

type Chunk = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

/**
 * Answers a request with plain JSON when the whole stream arrives soon: the protocol lets the server choose, and a stream of
 * one message doubles the cost of a call for client and server. Every other response is unchanged.
 */
export async function soonAsJson(response: Response, outgoing: ServerResponse): Promise<Response> {
  const { status, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (!isStream || response.body === null) return response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  // The client has disconnected; the SDK decides how that affects the request.
  const leave = (): void => void reader.cancel().catch(() => {});
  outgoing.once("close", leave);
  const first = reader.read();
  const begun = await atOnce(first, SOON_MS);
  const second = begun === null || begun.done ? null : reader.read();
  const ended = second === null ? null : await atOnce(second, 0);
  outgoing.off("close", leave);
  const text = begun?.value === undefined ? "" : new TextDecoder().decode(begun.value);
  const [, json] = ended?.done === true ? (ALONE.exec(text) ?? []) : [];
  if (json !== undefined) {
    const session = headers.get("mcp-session-id");
    const sessionHeader = session === null ? {} : { "mcp-session-id": session };
    return new Response(json, {
      status,
      headers: { "content-type": "application/json", ...sessionHeader },
    });
  }
  const read = second === null ? [first] : [first, second];
  return new Response(restOf(reader, read), { status, headers });
}

/** Resolves with the chunk; null when it does not arrive within `ms`. With 0 only a chunk that is already available counts. */
async function atOnce(chunk: Promise<Chunk>, ms: number): Promise<Chunk | null> {
  const late = Promise.withResolvers<null>();
  const timer = ms === 0 ? setImmediate(late.resolve, null) : setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([chunk, late.promise]);
  } finally {
    if (ms === 0) clearImmediate(timer as NodeJS.Immediate);
    else clearTimeout(timer as NodeJS.Timeout);
  }
}

/** Returns a stream of the chunks that were read and the rest. */
function restOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  read: Promise<Chunk>[],
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await (read.shift() ?? reader.read());
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
