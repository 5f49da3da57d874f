import { ServiceError } from "@switchyard/contracts/errors";
import type { UserCache } from "../identity/user-cache.ts";

/** Rechecks regularly whether the readers' credentials are valid, once for all readers of one credential. */
export interface CredentialWatch {
  /** Calls `onEnd` when the credential has ended. Returns a function that ends the watch. */
  watch(credential: string, onEnd: () => void): () => void;
}

const CHECK_MS = 15_000;

export function createCredentialWatch(users: Pick<UserCache, "identify">): CredentialWatch {
  const watched = new Map<string, Set<() => void>>();
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    for (const [credential, listeners] of watched)
      users.identify(credential).catch((error: unknown) => {
        // While the policy service cannot answer, readers continue.
        if (!(error instanceof ServiceError) || error.code !== "bad_credential") return;
        for (const listener of listeners) listener();
      });
  };
  return {
    watch(credential, onEnd) {
      const listeners = watched.get(credential) ?? new Set();
      watched.set(credential, listeners.add(onEnd));
      timer ??= setInterval(check, CHECK_MS);
      return () => {
        listeners.delete(onEnd);
        if (listeners.size === 0 && watched.get(credential) === listeners)
          watched.delete(credential);
        if (watched.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}
