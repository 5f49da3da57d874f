import type { ServerResponse } from "node:http";

/** What takes longer is told over a stream, which says now and then that it is there. */
const SOON_MS = 2_000;
/** An answer that is alone in its stream, as the SDK writes it. */
const ALONE = /^event: message\ndata: (.*)\n\n$/s;

type Chunk = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

/**
 * The stream that answers a request as plain JSON, where all that it has comes soon: both are for the server to choose, and a stream of one
 * message costs client and server half of a call. Everything else stays as it is.
 */
export async function soonAsJson(response: Response, outgoing: ServerResponse): Promise<Response> {
  const { status, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (!isStream || response.body === null) return response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  // Nobody reads on; what that means for the request, the SDK knows.
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
    const told = session === null ? {} : { "mcp-session-id": session };
    return new Response(json, { status, headers: { "content-type": "application/json", ...told } });
  }
  const read = second === null ? [first] : [first, second];
  return new Response(restOf(reader, read), { status, headers });
}

/** What a promise resolves with; null when it does not within a time, which is that of what is under way for 0. */
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

/** A stream of what was read of it and what is left. */
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
