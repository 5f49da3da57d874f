/** One message of a stream of server-sent events. */
export interface SentEvent {
  readonly event: string;
  /** Null for a message after which a stream cannot be resumed, such as live text. */
  readonly id: string | null;
  readonly data: string;
}

/**
 * The messages of a body in `text/event-stream`, https://html.spec.whatwg.org/multipage/server-sent-events.html. Ends where the body does;
 * an incomplete last message is dropped. `onBytes` is called for everything that arrives, comments included; `onRetry` with the time that
 * readers have to wait before they reconnect, in milliseconds.
 */
export async function* readSentEvents(
  body: ReadableStream<Uint8Array>,
  { onBytes, onRetry }: { onBytes: () => void; onRetry: (retryMs: number) => void },
): AsyncGenerator<SentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      text += decoder.decode(value, { stream: true }).replaceAll("\r\n", "\n");
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        const message = parseBlock(text.slice(0, end), onRetry);
        text = text.slice(end + 2);
        if (message !== null) yield message;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseBlock(block: string, onRetry: (retryMs: number) => void): SentEvent | null {
  let event = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    else if (name === "id") id = value;
    else if (name === "data") data.push(value);
    else if (name === "retry" && /^\d{1,9}$/.test(value)) onRetry(Number(value));
  }
  return data.length === 0 ? null : { event, id, data: data.join("\n") };
}
