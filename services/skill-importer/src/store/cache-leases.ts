import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis } from "@switchyard/service/store-error";

/** The time for which an answer may be cached, counted from before its request. */
const KEEP_MS = 500;
/** Clock rates differ between machines, but by far less than 10 %. */
const WAIT_MS = KEEP_MS * 1.1;

/** Set when a lease was granted; outlives the lease by far. */
const PROMISED = "yard:{catalogue}:promised";
const PROMISED_MS = 2 * KEEP_MS;
/** Set while a change is coming, when no lease is granted. */
const CHANGING = "yard:{catalogue}:changing";
const CHANGING_MS = 5_000;

interface Time {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/**
 * Lets runners cache an answer about the catalogue for half a second, and makes every change wait until the leases of the state
 * before have ended: a client that sees a change, in a list, an event or an answer, can rely on it everywhere. Both marks are in
 * Redis, because any replica may answer and any may change the catalogue. The policy promises in memory (`decision-leases.ts`): a decision
 * may not cost a write, and each replica ends its own promises before a change comes into force there.
 */
export class CacheLeases {
  readonly #redis: Redis;
  readonly #time: Time;

  constructor(redis: Redis, time: Time = { now: () => performance.now(), wait: delay }) {
    this.#redis = redis;
    this.#time = time;
  }

  /** Returns milliseconds; null while the catalogue is being changed. Call it before reading the data of the answer. */
  async grant(): Promise<number | null> {
    const isChanging = await this.#mark({ key: PROMISED, forMs: PROMISED_MS }, CHANGING);
    return isChanging ? null : KEEP_MS;
  }

  /** Makes the change when all leases have ended. */
  async change<T>(commit: () => Promise<T>): Promise<T> {
    const { now, wait } = this.#time;
    for (;;) {
      const until = now() + CHANGING_MS - WAIT_MS;
      const isPromised = await this.#mark({ key: CHANGING, forMs: CHANGING_MS }, PROMISED);
      if (isPromised) await wait(WAIT_MS);
      // A pause of this process may have outlasted the mark.
      if (now() < until) return commit();
    }
  }

  /** Sets a mark and returns whether the other one exists, in one transaction. */
  async #mark(own: { readonly key: string; readonly forMs: number }, other: string) {
    const transaction = this.#redis.multi().set(own.key, "1", "PX", own.forMs).exists(other);
    const [, found] = await allFromRedis(transaction.exec());
    return found !== 0;
  }
}
