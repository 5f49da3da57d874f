import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis } from "@switchyard/service/store-error";

/** For how long an answer may be used, counted from before it was asked for. */
const KEEP_MS = 500;
/** Clocks of two machines do not run alike; nobody's is wrong by a tenth. */
const WAIT_MS = KEEP_MS * 1.1;

/** Somebody was promised something; outlives the promise by far. */
const PROMISED = "yard:{catalogue}:promised";
const PROMISED_MS = 2 * KEEP_MS;
/** A change is coming, nothing is promised. */
const CHANGING = "yard:{catalogue}:changing";
const CHANGING_MS = 5_000;

interface Time {
  /** In milliseconds, of a clock that does not go back. */
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/**
 * Lets runners use an answer about the catalogue for half a second without asking again, and makes every
 * change wait until nobody uses what was before: whoever learns of a change, by a list, an event or an answer, knows
 * that it holds everywhere. Both marks are in Redis, because any replica answers and any may change.
 */
export class KeepPromises {
  readonly #redis: Redis;
  readonly #time: Time;

  constructor(redis: Redis, time: Time = { now: () => performance.now(), wait: delay }) {
    this.#redis = redis;
    this.#time = time;
  }

  /** Milliseconds; null while the catalogue is being changed. Ask before reading what is answered. */
  async promise(): Promise<number | null> {
    const isChanging = await this.#mark({ key: PROMISED, forMs: PROMISED_MS }, CHANGING);
    return isChanging ? null : KEEP_MS;
  }

  /** Makes the change when nothing that was promised is in use any more. */
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

  /** Sets a mark and says, of the same moment, whether the other one is there. */
  async #mark(own: { readonly key: string; readonly forMs: number }, other: string) {
    const transaction = this.#redis.multi().set(own.key, "1", "PX", own.forMs).exists(other);
    const [, found] = await allFromRedis(transaction.exec());
    return found !== 0;
  }
}
