import { wellFormedJson } from "@switchyard/contracts/well-formed";
import { ModelFailure } from "./model-failure.ts";
import { saidIn, valuesAt } from "./provider-errors.ts";
import { retryAfterOf } from "./retry-after.ts";

/** Called with each piece of a response, by the signal of its request. */
const listeners = new WeakMap<AbortSignal, () => void>();

/** Calls back whenever bytes of a response to requests with this signal arrive, comments of the stream included. */
export function onBytes(signal: AbortSignal, listener: () => void): void {
  listeners.set(signal, listener);
}

/**
 * The `fetch` of all providers. It replaces lone surrogates in requests: providers refuse them (400), and each later request that repeats
 * the text. A success status without a stream rejects with ModelFailure.
 */
export const providerFetch: typeof fetch = async (url, init) => {
  const body = typeof init?.body === "string" ? { body: wellFormedJson(init.body) } : {};
  const response = await fetch(url, { ...init, ...body });
  if (!response.ok || response.body === null) return response;
  const reader = response.body.getReader();
  const first = await reader.read();
  const start = new TextDecoder()
    .decode(first.value)
    .replace(/^\uFEFF/, "")
    .trimStart();
  if (start.startsWith("<") || start.startsWith("{") || start.startsWith("["))
    throw await noStream({ start, reader, isPage: start.startsWith("<") });
  const touch = init?.signal instanceof AbortSignal ? listeners.get(init.signal) : undefined;
  return new Response(streamOf(reader, first, touch), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  });
};

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

function streamOf(
  reader: Reader,
  first: Awaited<ReturnType<Reader["read"]>>,
  touch: (() => void) | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let next: Promise<Awaited<ReturnType<Reader["read"]>>> | null = Promise.resolve(first);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await (next ?? reader.read());
      next = null;
      touch?.();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const MAX_ERROR_CHARS = 65_536;

/** An event stream begins with neither: the address is wrong, or the provider's error has a success status. */
async function noStream({
  start,
  reader,
  isPage,
}: {
  readonly start: string;
  readonly reader: Reader;
  readonly isPage: boolean;
}): Promise<ModelFailure> {
  let text = start;
  const decoder = new TextDecoder();
  const longest = isPage ? 0 : MAX_ERROR_CHARS;
  while (text.length < longest) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel().catch(() => {}); // the rest of the body is not used
  const what = isPage ? "a web page, such as a login page" : "JSON without a stream";
  const body = isPage ? undefined : jsonIn(text);
  const said = saidIn(body);
  const status = valuesAt(body, ["code", "status"]).find((value) => typeof value === "number");
  // OpenRouter reports a failure of the provider behind it with a success status.
  if (status === 429 || (status !== undefined && status >= 500 && status < 600))
    return new ModelFailure(`the provider failed (${status}): ${said}`, {
      isRetryable: true,
      isOutage: true,
      retryAfterMs: retryAfterOf({ headers: {}, body }, Date.now()),
    });
  const message = `the provider's address answered with ${what}${said === "" ? "" : ` (${said})`}; check the provider's baseURL, its key, and any proxy on the way`;
  return new ModelFailure(message, { code: "provider_misconfigured", isRetryable: false });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
