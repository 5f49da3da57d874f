import type { FetchLike } from "@modelcontextprotocol/client";
import { EgressError, type EgressGuard } from "@switchyard/service/network/egress-guard";
import { openGuardedAgent } from "@switchyard/service/network/guarded-agent";

/** A `fetch` whose sockets reach permitted addresses only, with the sockets to end it. */
export interface GuardedFetch {
  readonly fetch: FetchLike;
  /** Ends every connection, those in use too. */
  close(): void;
}

export interface GuardedFetchOptions {
  readonly guard: EgressGuard;
  /** Sent to this origin and to no other, wherever the server's metadata points. */
  readonly own: { readonly origin: string; readonly headers: Readonly<Record<string, string>> };
}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * `fetch` with a resolver of our own. Redirects are followed here, and within their origin only: a request carries the
 * credentials of a login to the server that an administrator or checked metadata named, and to no other server that this one
 * names.
 */
export function createGuardedFetch({ guard, own }: GuardedFetchOptions): GuardedFetch {
  // A call has its own time, and an event stream may be silent for hours.
  const agent = openGuardedAgent({ guard, isEndless: true });

  const send = async (url: URL, { signal, ...init }: RequestToSend): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (url.origin === own.origin)
      for (const [name, value] of Object.entries(own.headers))
        if (!headers.has(name)) headers.set(name, value);
    try {
      const response = await agent.fetch(url, {
        method: init.method,
        headers: Object.fromEntries(headers),
        ...(init.body === undefined ? {} : { body: init.body }),
        ...(signal === undefined ? {} : { signal }),
      });
      return response;
    } catch (error) {
      throw toFetchError(error, signal);
    }
  };

  return {
    async fetch(input, init = {}) {
      let request = await readInit(init);
      let url = new URL(input);
      for (let followed = 0; ; followed += 1) {
        const response = await send(url, request);
        const target = init.redirect === "manual" ? null : redirectTarget(response, url);
        if (target === null || followed === MAX_REDIRECTS) return response;
        if (init.redirect === "error")
          throw new TypeError(`unexpected redirect from ${url.origin}`);
        await response.body?.cancel();
        if (target.origin !== url.origin) throw elsewhere(url, target);
        request = redirected(request, response.status);
        url = target;
      }
    },
    close() {
      agent.close();
    },
  };
}

interface RequestToSend {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Buffer | string | undefined;
  readonly signal: AbortSignal | undefined;
}

async function readInit(init: RequestInit): Promise<RequestToSend> {
  const headers = new Headers(init.headers);
  const { body } = init;
  const signal = init.signal ?? undefined;
  const method = init.method ?? "GET";
  if (body === null || body === undefined) return { method, headers, body: undefined, signal };
  if (typeof body === "string") return { method, headers, body, signal };
  // `Response` knows how every other kind of body is written, and its content type.
  const written = new Response(body);
  const type = written.headers.get("content-type");
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  return { method, headers, body: Buffer.from(await written.arrayBuffer()), signal };
}

/** The error that `fetch` threw, with its causes in the message: wrapping errors show nothing else. */
function toFetchError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  const cause = error instanceof Error ? error.cause : null;
  if (!(cause instanceof Error)) return error;
  if (cause.name === "EgressError") return cause;
  // A name with several addresses fails with an aggregate, whose own message is empty.
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name;
  return new TypeError(`fetch failed: ${cause.message || code}`, { cause });
}

function redirectTarget(response: Response, from: URL): URL | null {
  const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
  if (location === null || !URL.canParse(location, from.href)) return null;
  const target = new URL(location, from);
  return target.protocol === "http:" || target.protocol === "https:" ? target : null;
}

/** The next request by the rules of RFC 9110: 303 asks for a GET, and so do 301 and 302 after a POST. */
function redirected(request: RequestToSend, status: number): RequestToSend {
  const keepsMethod =
    status === 307 || status === 308 || request.method === "GET" || request.method === "HEAD";
  if (keepsMethod) return request;
  const headers = new Headers(request.headers);
  headers.delete("content-type");
  return { ...request, method: "GET", headers, body: undefined };
}

/** Without the queries, which may hold a code or a state. */
function elsewhere(from: URL, to: URL): EgressError {
  return new EgressError(
    `${from.origin}${from.pathname} redirects to another origin, ${to.origin}${to.pathname}, which was not asked; name that address itself if it is meant`,
  );
}
