import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { USER_SESSION_PREFIX } from "@switchyard/contracts/policy/user-sessions";
import type { Context } from "hono";
import { Problem } from "../problems/problem.ts";
import type { AccessAudit } from "./access-audit.ts";
import { limitedAddress } from "./client-address.ts";
import type { RateLimit } from "./rate-limit.ts";
import { headerOf, type GatewayEnv } from "./request-context.ts";
import { checkCsrf, type GatewayCookie } from "./session-cookie.ts";
import type { User, UserCache } from "./user-cache.ts";

export interface AuthenticationParts {
  readonly users: UserCache;
  readonly rateLimit: RateLimit;
  readonly sessionCookie: GatewayCookie;
  /** The gateway's address from outside; null where that is the address it listens on. */
  readonly publicUrl: URL | null;
  readonly requestsPerMinute: number;
  readonly access: AccessAudit;
}

/** The limit in a minute, for one address: a client that guesses credentials is stopped, and other addresses are not affected. */
const BAD_SIGN_INS = 30;

/** Authenticates by RFC 6750, or by the cookie of a session. Requests are counted under their caller and credential. */
export async function authenticate(
  c: Context<GatewayEnv>,
  next: () => Promise<void>,
  parts: AuthenticationParts,
): Promise<void> {
  const { users, sessionCookie, publicUrl } = parts;
  const shown = bearerOf(c);
  const credential = shown ?? sessionCookie.get(c);
  if (credential === undefined)
    throw unauthenticated("this needs a credential in the header Authorization, or a session");
  if (shown === undefined) checkCsrf(c, credential, publicUrl);
  const isBearer = shown !== undefined;
  const user = await countingGuesses(c, parts, () => identify(users, credential, isBearer));
  await countRequest(c, parts, user);
  c.set("user", user);
  c.set("credential", credential);
  await next();
}

/**
 * Returns the user of a credential. Rejects as the desk does; a session is accepted as a cookie alone, since cookies come with
 * the check of their origin.
 */
export async function identify(
  users: Pick<UserCache, "identify">,
  credential: string,
  isBearer: boolean,
): Promise<User> {
  if (isBearer && credential.startsWith(USER_SESSION_PREFIX))
    throw new ServiceError("bad_credential", "a session counts as a cookie, not in Authorization");
  return users.identify(credential);
}

/** Counts a request of a credential. Throws a Problem when it has sent too many in a minute. */
export async function countRequest(
  c: Context<GatewayEnv>,
  { rateLimit, requestsPerMinute }: Pick<AuthenticationParts, "rateLimit" | "requestsPerMinute">,
  user: User,
): Promise<void> {
  const taken = await rateLimit.take(`${user.caller} ${user.credential}`, requestsPerMinute);
  for (const [name, value] of Object.entries(taken.headers)) c.env.outgoing.setHeader(name, value);
  if (taken.isOver) throw tooMany(taken.headers);
}

/** Returns the credential of the header `Authorization`. */
export function bearerOf(c: Context<GatewayEnv>): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,16384})$/i.exec(headerOf(c, "authorization") ?? "")?.[1];
}

/** Throws a Problem for an invalid credential: 401, or 429 for an address that sends many. */
export async function countingGuesses<T>(
  c: Context<GatewayEnv>,
  parts: Pick<AuthenticationParts, "rateLimit" | "access">,
  look: () => Promise<T>,
): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "bad_credential") throw error;
    await limitAddress(c, parts, { what: "guess", limit: BAD_SIGN_INS });
    const operation = cutText(`${c.req.method} ${c.req.path}`, 128);
    parts.access.refused(c, null, { operation, status: 401, code: "bad_credential" });
    throw unauthenticated(error.message);
  }
}

/** Throws a Problem when an address exceeds a limit per minute. */
export async function limitAddress(
  c: Context<GatewayEnv>,
  { rateLimit }: Pick<AuthenticationParts, "rateLimit">,
  { what, limit }: { readonly what: string; readonly limit: number },
): Promise<void> {
  const who = `${what} ${limitedAddress(c.get("address"))}`;
  const { isOver, headers } = await rateLimit.take(who, limit);
  if (isOver) throw tooMany(headers);
}

/** Throws a Problem while an address is over a limit of {@link limitAddress}, before any work is done for it. */
export function checkAddress(
  c: Context<GatewayEnv>,
  { rateLimit }: Pick<AuthenticationParts, "rateLimit">,
  { what, limit }: { readonly what: string; readonly limit: number },
): void {
  const over = rateLimit.over(`${what} ${limitedAddress(c.get("address"))}`, limit);
  if (over !== null) throw tooMany(over.headers);
}

export function unauthenticated(detail: string): Problem {
  const headers = { "www-authenticate": 'Bearer realm="switchyard"' };
  return new Problem({ status: 401, code: "unauthenticated", detail, headers });
}

function tooMany(headers: Readonly<Record<string, string>>): Problem {
  const detail = "too many requests in a minute";
  return new Problem({ status: 429, code: "rate_limited", detail, headers });
}
