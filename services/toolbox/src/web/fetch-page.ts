import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { EgressError } from "@switchyard/service/network/egress-guard";
import { openGuardedAgent, type GuardedAgent } from "@switchyard/service/network/guarded-agent";
import { ToolError } from "../tool-error.ts";
import { cutBytes } from "../workspace/cut-bytes.ts";

export interface Page {
  /** The URL of the page after redirects. */
  readonly url: string;
  readonly status: number;
  /** The media type without parameters, in lower case; empty when the server sent none. */
  readonly mediaType: string;
  /** The `charset` parameter; null when the server sent none. */
  readonly charset: string | null;
  readonly body: Buffer;
  /** True when the body is longer than the limit. */
  readonly truncated: boolean;
}

/** The page redirects to another host, which was not requested. */
export interface Elsewhere {
  readonly url: string;
  readonly status: number;
  readonly elsewhere: string;
}

export interface FetchOptions {
  readonly guard: EgressGuard;
  readonly timeoutMs: number;
  readonly limitBytes: number;
  readonly signal: AbortSignal;
}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const HEADERS = {
  accept: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
  "user-agent": "switchyard-toolbox",
};

/**
 * Gets a page from a permitted address, without credentials. Redirects are followed within the host that the policy has decided
 * about; the caller has to request another host itself. Throws ToolError when the page cannot be fetched.
 */
export async function fetchPage(address: string, options: FetchOptions): Promise<Page | Elsewhere> {
  const { guard, timeoutMs, limitBytes } = options;
  const agent = openGuardedAgent({ guard });
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const { response, url, elsewhere } = await follow(urlOf(address), agent, signal);
    if (elsewhere !== null)
      return { url: url.href, status: response.status, elsewhere: elsewhere.href };
    const { body, truncated } = await readBody(response, limitBytes);
    return { url: url.href, status: response.status, ...typeOf(response), body, truncated };
  } catch (error) {
    throw explained(error, {
      address,
      timeoutMs,
      isOver: signal.aborted && !options.signal.aborted,
    });
  } finally {
    // The rest of a body that was cut must not keep a socket open.
    agent.close();
  }
}

/** Throws ToolError for an address that is not an http or https URL, or whose host is an address that is not permitted. */
export function checkAddress(address: string, guard: EgressGuard): void {
  const url = urlOf(address);
  try {
    guard.checkUrl(url);
  } catch (error) {
    throw error instanceof EgressError ? new ToolError(error.message, { cause: error }) : error;
  }
}

type Response = Awaited<ReturnType<GuardedAgent["fetch"]>>;

async function follow(
  first: URL,
  agent: GuardedAgent,
  signal: AbortSignal,
): Promise<{ response: Response; url: URL; elsewhere: URL | null }> {
  let url = first;
  for (let followed = 0; followed <= MAX_REDIRECTS; followed += 1) {
    const response = await agent.fetch(url, { headers: HEADERS, signal });
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return { response, url, elsewhere: null };
    await response.body?.cancel();
    const target = urlOf(location, url);
    if (!isSameHost(url, target)) return { response, url, elsewhere: target };
    url = target;
  }
  throw new ToolError(`'${first.href}' redirects more than ${MAX_REDIRECTS} times.`);
}

/** The same origin, or its https instead of http. */
function isSameHost(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:";
  return isUpgrade && from.hostname === to.hostname && from.port === "" && to.port === "";
}

function urlOf(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null)
    throw new ToolError(`'${text}' is not a URL; write one such as https://example.com/page.`);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new ToolError(`'${text}' is not an http or https URL; only those are fetched.`);
  if (url.username !== "" || url.password !== "")
    throw new ToolError(`The URL has a name or a password in it; pages are fetched without.`);
  return url;
}

async function readBody(
  response: Response,
  limitBytes: number,
): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limitBytes) break;
  }
  return { body: cutBytes(Buffer.concat(chunks), limitBytes), truncated: size > limitBytes };
}

function typeOf(response: Response): Pick<Page, "mediaType" | "charset"> {
  const [mediaType = "", ...parameters] = (response.headers.get("content-type") ?? "").split(";");
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/i.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  return { mediaType: mediaType.trim().toLowerCase(), charset: charset ?? null };
}

function explained(
  error: unknown,
  { address, timeoutMs, isOver }: { address: string; timeoutMs: number; isOver: boolean },
): unknown {
  if (error instanceof ToolError) return error;
  if (isOver) return new ToolError(`'${address}' did not answer wholly within ${timeoutMs} ms.`);
  const cause = error instanceof Error ? error.cause : undefined;
  const refused = [error, cause].find((each) => each instanceof EgressError);
  if (refused !== undefined) return new ToolError(refused.message, { cause: error });
  // undici's `fetch` throws a TypeError with the reason as its cause for whatever the network does.
  if (!(error instanceof TypeError) || !(cause instanceof Error)) return error;
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name;
  return new ToolError(`'${address}' cannot be reached: ${cause.message || code}.`, {
    cause: error,
  });
}
