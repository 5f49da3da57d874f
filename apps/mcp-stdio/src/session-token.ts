import { isUnconfirmed } from "@switchyard/contracts/agent-runner/session-claims";
import type { SessionClaims } from "./environment.ts";

export interface ClaimedToken {
  readonly token: string;
  readonly expiresAt: string;
}

/** A token is renewed this long before it expires, in milliseconds. */
const RENEW_MS = 60_000;

/**
 * Returns the source of the token that calls carry: none without claims, else one that the runner issues for claims that are true. It is kept until
 * shortly before it expires, and requested again after a failure. A session that has no record yet gives no token, and is looked up again at each
 * call, since a call may begin it.
 */
export function sessionToken(
  claims: SessionClaims | null,
  {
    claim,
    codeOf,
    now = Date.now,
  }: {
    readonly claim: (claims: SessionClaims, signal: AbortSignal) => Promise<ClaimedToken>;
    /** Returns the code of a service's error; null for any other error. */
    readonly codeOf: (error: unknown) => string | null;
    readonly now?: () => number;
  },
): (signal: AbortSignal) => Promise<{ readonly token?: string }> {
  let held: Promise<ClaimedToken> | null = null;
  return async (signal) => {
    if (claims === null) return {};
    const before = await held?.catch(() => null);
    if (before && Date.parse(before.expiresAt) - now() > RENEW_MS) return { token: before.token };
    held = claim(claims, signal);
    try {
      return { token: (await held).token };
    } catch (error) {
      const code = codeOf(error);
      if (code !== null && isUnconfirmed(claims, code)) return {};
      throw error;
    }
  };
}
