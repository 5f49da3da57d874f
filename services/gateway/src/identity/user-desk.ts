import { createHash } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { follow } from "@switchyard/bus/follow";
import { issueUserToken, userKeyRevoked } from "@switchyard/contracts/user-tokens";
import type { z } from "zod";

/** Who asks, with the token that says so to services. */
export type User = z.output<typeof issueUserToken.reply>;

export interface UserDesk {
  /** Rejects with a ServiceError: `bad_credential`, or what keeps the policy service from answering. */
  identify(credential: string): Promise<User>;
  /** What was known of the credential is not believed any more. */
  forget(credential: string): void;
  /** Hears the name of each credential that ends before its time. */
  onRevoked(listener: (credential: string) => void): () => void;
  stop(): void;
}

/** A token is renewed so long before it ends, so that none ends on its way. */
const RENEW_BEFORE_MS = 15_000;
const KEPT = 10_000;

/**
 * Has credentials verified by the policy service, which signs the user tokens, and keeps these almost to their end. Credentials are
 * kept as digests. The end of an API key is an event; without it the key is good here until the token ends.
 */
export function openUserDesk(bus: Bus, now: () => number): UserDesk {
  const known = new Map<string, Promise<User>>();
  const listeners = new Set<(credential: string) => void>();
  const revoked = follow(bus, userKeyRevoked, ({ id, endsAt }) => {
    const end = (): void => {
      for (const [digest, user] of known)
        void user.then(
          ({ credential }) => credential === id && known.delete(digest),
          () => {},
        );
      for (const listener of listeners) listener(id);
    };
    const inMs = Date.parse(endsAt) - now();
    // A later end is in the tokens of the meantime.
    if (inMs <= 0) end();
    else if (inMs < 60_000) setTimeout(end, inMs).unref();
  });

  return {
    async identify(credential) {
      const digest = digestOf(credential);
      const kept = known.get(digest);
      const user = await kept?.catch(() => undefined);
      if (user !== undefined && Date.parse(user.expiresAt) - RENEW_BEFORE_MS > now()) return user;
      if (known.get(digest) === kept) known.delete(digest);
      const asked = known.get(digest) ?? call(bus, issueUserToken, { credential });
      known.set(digest, asked);
      asked.catch(() => known.get(digest) === asked && known.delete(digest));
      const [oldest] = known.keys();
      if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
      return asked;
    },
    forget: (credential) => void known.delete(digestOf(credential)),
    onRevoked(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => revoked.stop(),
  };
}

function digestOf(credential: string): string {
  return createHash("sha256").update(credential).digest("base64");
}
