import type { Redis } from "@switchyard/service/redis";
import { essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { stateKey } from "./run-keys.ts";

/**
 * The events that a single nats-server may not have written yet, since it acknowledges events of runs before: the runs that were
 * released lately, whose journals have their events, and the lately published events that are in no journal.
 */
export interface UnsyncedEvents {
  /** Notes that a run is released, with all its events acknowledged or in flight. */
  addRun(runId: string, atMs: number): Promise<void>;
  /** Notes an event that is about to be published. */
  addEvent(event: UnsyncedEvent, atMs: number): Promise<void>;
  /** Yields all runs that were added and not removed, some at a time; expired ones are left out. */
  runs(): AsyncGenerator<UnsyncedRun[]>;
  /** Returns the events in the order of their times. */
  events(): Promise<UnsyncedEvent[]>;
  forgetUntil(ms: number): Promise<void>;
  /** The server that all was compared with last; null: with none. */
  comparedWith(): Promise<string | null>;
  setCompared(server: string): Promise<void>;
}

export interface UnsyncedRun {
  readonly runId: string;
  readonly requester: string;
  /** Events up to this one were acknowledged. */
  readonly published: number;
}

const UnsyncedEvent = z.strictObject({
  subject: z.string(),
  payload: z.record(z.string(), z.unknown()),
  messageId: z.string(),
  correlationId: z.string(),
});
export type UnsyncedEvent = z.output<typeof UnsyncedEvent>;

const AT_ONCE = 64;
/** Clients whose commands are refused cannot fill Redis: only the latest so many events are stored. */
const MAX_EVENTS = 10_000;
const RUNS_KEY = "yard:runs:left";
const EVENTS_KEY = "yard:runs:events";
const COMPARED_KEY = "yard:runs:compared";

export function openUnsyncedEvents(redis: Redis): UnsyncedEvents {
  const read = async (runId: string): Promise<UnsyncedRun[]> => {
    const [requester, published] = await fromRedis(
      redis.hmget(stateKey(runId), "requester", "published"),
    );
    return requester ? [{ runId, requester, published: Number(published) }] : [];
  };
  return {
    async addRun(runId, atMs) {
      await essentialWrite(redis, ["zadd", RUNS_KEY, atMs, runId]);
    },

    async addEvent(event, atMs) {
      await essentialWrite(redis, ["zadd", EVENTS_KEY, atMs, JSON.stringify(event)]);
      await fromRedis(redis.zremrangebyrank(EVENTS_KEY, 0, -MAX_EVENTS - 1));
    },

    async *runs() {
      for (let from = 0; ; from += AT_ONCE) {
        const last = from + AT_ONCE - 1;
        const runIds = await fromRedis(redis.zrange(RUNS_KEY, String(from), String(last)));
        if (runIds.length === 0) return;
        yield (await Promise.all(runIds.map(read))).flat();
      }
    },

    async events() {
      const rows = await fromRedis(redis.zrange(EVENTS_KEY, "0", "-1"));
      return rows.map((row) => UnsyncedEvent.parse(JSON.parse(row)));
    },

    async forgetUntil(ms) {
      for (const key of [RUNS_KEY, EVENTS_KEY])
        await fromRedis(redis.zremrangebyscore(key, "-inf", String(ms)));
    },

    comparedWith: () => fromRedis(redis.get(COMPARED_KEY)),

    async setCompared(server) {
      await essentialWrite(redis, ["set", COMPARED_KEY, server]);
    },
  };
}
