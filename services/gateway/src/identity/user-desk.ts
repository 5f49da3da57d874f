import { createHash } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { follow } from "@switchyard/bus/follow";
import {
  closeUserSession,
  openUserSession,
  userSessionEnded,
} from "@switchyard/contracts/user-sessions";
import { issueUserToken, userKeyRevoked } from "@switchyard/contracts/user-tokens";
import type { z } from "zod";

/** Who asks, with the token that says so to services. */
export type User = z.output<typeof issueUserToken.reply>;

export interface UserDesk {
  /** Rejects with a ServiceError: `bad_credential`, or what keeps the policy service from answering. */
  identify(credential: string): Promise<User>;
  /** What was known of the credential is not believed any more. */
  forget(credential: string): void;
  /** Opens a browser's session. Rejects as `identify` does. */
  openSession(
    shown: z.input<typeof openUserSession.request>,
  ): Promise<z.output<typeof openUserSession.reply>>;
  closeSession(key: string): Promise<void>;
  /** Hears that a user's credential or session ended before its time. */
  onEnded(user: User, listener: () => void): () => void;
  stop(): void;
}

/** A token is renewed so long before it ends, so that none ends on its way. */
const RENEW_BEFORE_MS = 15_000;
const KEPT = 10_000;

/**
 * Has credentials verified by the policy service, which signs the user tokens, and keeps these almost to their end. Credentials are
 * kept as digests. The end of an API key or of a session is an event; without it the key is good here until the token ends.
 */
export function openUserDesk(bus: Bus, now: () => number): UserDesk {
  const known = new Map<string, Promise<User>>();
  const listeners = new Set<(ended: string) => void>();
  const end = (id: string): void => {
    for (const [digest, user] of known)
      void user.then(
        (one) => isOf(one, id) && known.delete(digest),
        () => {},
      );
    for (const listener of listeners) listener(id);
  };
  const revoked = follow(bus, userKeyRevoked, ({ id, endsAt }) => {
    const inMs = Date.parse(endsAt) - now();
    // A later end is in the tokens of the meantime.
    if (inMs <= 0) end(id);
    else if (inMs < 60_000) setTimeout(() => end(id), inMs).unref();
  });
  const ended = follow(bus, userSessionEnded, ({ id }) => end(id));

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
    openSession: (shown) => call(bus, openUserSession, shown),
    async closeSession(key) {
      known.delete(digestOf(key));
      await call(bus, closeUserSession, { key });
    },
    onEnded(user, listener) {
      const hear = (id: string): void => {
        if (isOf(user, id)) listener();
      };
      listeners.add(hear);
      return () => listeners.delete(hear);
    },
    stop() {
      revoked.stop();
      ended.stop();
    },
  };
}

function isOf({ credential, session }: User, ended: string): boolean {
  return credential === ended || session === ended;
}

function digestOf(credential: string): string {
  return createHash("sha256").update(credential).digest("base64");
}
