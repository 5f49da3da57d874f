import { StreamableHTTPClientTransport, type FetchLike } from "@modelcontextprotocol/client";

const DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The SDK's Streamable HTTP transport, with a cap on one message. Redirects stay within the origin,
 * so that configured headers never reach another host.
 */
export function createHttpTransport(options: {
  url: URL;
  headers: Readonly<Record<string, string>>;
  maxMessageBytes?: number;
}): StreamableHTTPClientTransport {
  const maxBytes = options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES;
  return new StreamableHTTPClientTransport(options.url, {
    requestInit: { headers: { ...options.headers } },
    redirectPolicy: "same-origin",
    fetch: boundedFetch(maxBytes),
  });
}

function boundedFetch(maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const body = response.body.pipeThrough(isStream ? eventBound(maxBytes) : bodyBound(maxBytes));
    const { status, statusText, headers } = response;
    const bounded = new Response(body, { status, statusText, headers });
    // The transport reads the address to see a redirect; a new response has none of its own.
    Object.defineProperty(bounded, "url", { value: response.url });
    return bounded;
  };
}

function bodyBound(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.length;
      if (total > maxBytes) controller.error(tooLong(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/** Counts from one blank line to the next: an event stream may be endless, one event may not. */
function eventBound(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let eventBytes = 0;
  let lineBytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of chunk) {
        eventBytes += 1;
        if (byte === NEWLINE) {
          if (lineBytes === 0) eventBytes = 0;
          lineBytes = 0;
        } else if (byte !== CARRIAGE_RETURN) lineBytes += 1;
      }
      if (eventBytes > maxBytes) controller.error(tooLong(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

function tooLong(maxBytes: number): Error {
  return new Error(`a message exceeds the limit of ${maxBytes} bytes`);
}
