import { createHash } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import {
  closeUserSession,
  openUserSession,
  userSessionEnded,
} from "@switchyard/contracts/policy/user-sessions";
import { PromisedCache } from "@switchyard/contracts/promised-cache";
import { issueUserToken, userKeyRevoked } from "@switchyard/contracts/policy/user-tokens";
import type { z } from "zod";

/** An authenticated user, with the token that proves it to services. */
export type User = z.output<typeof issueUserToken.reply>;

export interface UserCache {
  /** Rejects with a ServiceError: `bad_credential`, or the error that keeps the policy service from answering. */
  identify(credential: string): Promise<User>;
  /** Removes the cached user of the credential. */
  forget(credential: string): void;
  /** Opens a browser's session. Rejects as `identify` does. */
  openSession(
    shown: z.input<typeof openUserSession.request>,
  ): Promise<z.output<typeof openUserSession.reply>>;
  closeSession(key: string): Promise<void>;
  /** The listener is called when a user's credential or session ends before its time. */
  onEnded(user: User, listener: () => void): () => void;
  stop(): void;
}

/** A token is renewed this long before it ends, so that none expires in transit. */
const RENEW_BEFORE_MS = 15_000;
const KEPT = 10_000;

/**
 * Verifies credentials by the policy service, which signs the user tokens, and caches the tokens almost until they expire.
 * Credentials are cached as digests. The end of an API key or of a session is an event; if it is lost, the key is accepted here
 * until the token expires.
 */
export function openUserCache(bus: Bus, now: () => number): UserCache {
  const known = new PromisedCache<User>({ now, most: KEPT });
  const listeners = new Set<(ended: string) => void>();
  const end = (id: string): void => {
    known.deleteWhere((user) => isOf(user, id));
    for (const listener of listeners) listener(id);
  };
  const revoked = follow(bus, userKeyRevoked, ({ id, endsAt }) => {
    const inMs = Date.parse(endsAt) - now();
    // Tokens issued meanwhile contain a later end.
    if (inMs <= 0) end(id);
    else if (inMs < 60_000) setTimeout(() => end(id), inMs).unref();
  });
  const ended = follow(bus, userSessionEnded, ({ id }) => end(id));

  return {
    identify: (credential) =>
      known.get(
        digestOf(credential),
        () => call(bus, issueUserToken, { credential }),
        ({ expiresAt }) => Date.parse(expiresAt) - RENEW_BEFORE_MS,
      ),
    forget: (credential) => known.delete(digestOf(credential)),
    openSession: (shown) => call(bus, openUserSession, shown),
    async closeSession(key) {
      known.delete(digestOf(key));
      await call(bus, closeUserSession, { key });
    },
    onEnded(user, listener) {
      const onEnd = (id: string): void => {
        if (isOf(user, id)) listener();
      };
      listeners.add(onEnd);
      return () => listeners.delete(onEnd);
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
