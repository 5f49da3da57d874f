import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listChannelHooks } from "@switchyard/contracts/channels/channels";

/**
 * Resolves with true when a channel's account, as `channel/accountId`, accepts requests of its provider. Rejects when the
 * channels service cannot be called.
 */
export type TakesRequests = (account: string) => Promise<boolean>;

/**
 * A new account is noticed after this time, which is also the shortest interval between queries of the channels service for
 * unknown accounts.
 */
const QUERY_MS = 1_000;
/** An account that was removed may pass for this long; the channels service refuses its requests. */
const CACHED_MS = 30_000;

/**
 * Caches the list of the channels service, so that requests for unknown accounts cost it next to nothing. It is no `PromisedCache`, because
 * one reply answers for all accounts, and its lifetime depends on whether the account that is requested is in it.
 */
export function createTakesRequests(bus: Bus, now: () => number): TakesRequests {
  let names: ReadonlySet<string> = new Set();
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;
  const ask = async (): Promise<void> => {
    const { accounts } = await call(bus, listChannelHooks, {});
    names = new Set(accounts.map(({ channel, accountId }) => `${channel}/${accountId}`));
    askedAt = now();
  };
  return async (account) => {
    const ageMs = now() - askedAt;
    const isOld = names.has(account) ? ageMs > CACHED_MS : ageMs > QUERY_MS;
    if (isOld) {
      asking ??= ask().finally(() => (asking = null));
      await asking;
    }
    return names.has(account);
  };
}
