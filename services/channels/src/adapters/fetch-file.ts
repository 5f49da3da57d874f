import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { openGuardedAgent } from "@switchyard/service/network/guarded-agent";
import { ChannelError } from "./adapter.ts";

export interface FetchFileOptions {
  /** Secrets among them reach the server of the URL alone, since only requests without headers follow redirects. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Needed for URLs that others supply. */
  readonly guard?: EgressGuard;
  readonly maxRedirects?: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface FetchedFile {
  readonly bytes: Uint8Array;
  /** The URL that answered, after redirects. */
  readonly url: URL;
  readonly mediaType: string | null;
}

/**
 * Fetches a file over HTTP, and stops where it exceeds the limit, which is that of the decompressed bytes. Throws a ChannelError without
 * the URL, which may contain a secret.
 */
export async function fetchFile(
  source: URL,
  { headers = {}, guard, maxRedirects = 0, maxBytes, signal }: FetchFileOptions,
): Promise<FetchedFile> {
  const agent = openGuardedAgent({ guard: guard ?? null });
  try {
    let url = source;
    for (let followed = 0; followed <= maxRedirects; followed += 1) {
      const response = await agent.fetch(url, { headers, signal });
      const location = response.headers.get("location");
      if (response.status >= 300 && response.status < 400 && location !== null) {
        url = webUrl(new URL(location, url).href);
        continue;
      }
      if (!response.ok) throw failed(`its server answers ${response.status}`);
      const bytes = await readBody(response.body ?? [], maxBytes);
      const mediaType = response.headers.get("content-type")?.split(";", 1)[0]?.trim() || null;
      return { bytes, url, mediaType };
    }
    throw failed(
      maxRedirects === 0 ? "its server redirects to another address" : "it redirects too often",
    );
  } catch (error) {
    if (error instanceof ChannelError) throw error;
    if (signal.aborted) throw failed("its server did not send it in time");
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw failed(`it cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`);
  } finally {
    agent.close();
  }
}

/** Parses the address of a file; throws a ChannelError for anything but `http` and `https`. */
export function webUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw failed("it must be an http or https URL");
  return url;
}

/**
 * Parses the address of a file that a provider has named, and throws a ChannelError for an address of others. `hosts` with a dot in front
 * are all hosts of that domain; the origin of the configured API, which is another one for a provider's server of one's own, is permitted.
 */
export function providerUrl(
  text: string,
  { hosts, origin }: { readonly hosts: readonly string[]; readonly origin: string },
): URL {
  const url = webUrl(text);
  const isOfHosts = hosts.some((host) =>
    host.startsWith(".") ? url.hostname.endsWith(host) : url.hostname === host,
  );
  if ((isOfHosts && url.protocol === "https:") || url.origin === new URL(origin).origin) return url;
  throw failed(`it is not at the provider but at ${url.hostname}`);
}

/** The error for a file that is not loaded because of its size. */
export function fileTooLarge(maxBytes: number): ChannelError {
  return failed(`it is larger than ${maxBytes} bytes`);
}

async function readBody(
  body: Iterable<Uint8Array> | AsyncIterable<unknown>,
  maxBytes: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    const part = chunk as Uint8Array; // fetch's bodies have no other chunks
    size += part.length;
    if (size > maxBytes) throw fileTooLarge(maxBytes);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function failed(reason: string): ChannelError {
  return new ChannelError("provider_error", reason, { isFinal: true });
}
