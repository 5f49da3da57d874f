import type { Redis } from "@switchyard/service/redis";
import { blobsOf, decodeEntry, encodeEntry, type EncodedEntry } from "./entry-codec.ts";
import type { JournalEntry, StartedEntry } from "./journal-entry.ts";
import { APPEND, CLAIM, MARK_PUBLISHED, RELEASE, RENEW } from "./journal-scripts.ts";
import { fixedColumns, movingColumns } from "./run-summary.ts";
import { startOf, type RunState } from "./replay.ts";

/** Another runner holds the run now: whoever gets this must stop and may not write or act. */
export class FenceLost extends Error {
  override readonly name = "FenceLost";
}

/** Redis did not do what it was asked; whether a write happened is unknown. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** Who holds a run: its writes are refused as soon as a newer epoch exists. */
export interface Hold {
  readonly runId: string;
  readonly epoch: string;
}

export type ClaimResult =
  /** There is no such run yet. */
  | { readonly outcome: "absent" }
  /** The run id belongs to another command. */
  | { readonly outcome: "taken" }
  /** A live runner works on it for another message of the same command. */
  | { readonly outcome: "busy"; readonly retryMs: number }
  | { readonly outcome: "ended"; readonly hold: Hold; readonly published: number }
  | {
      readonly outcome: "claimed";
      readonly hold: Hold;
      /** How often the run was picked up, this time included. */
      readonly attempts: number;
      /** How often it was picked up since it last got on, this time included. */
      readonly stalled: number;
      /** Events that are surely in the stream. */
      readonly published: number;
    };

/** The runs in Redis. Every write is one script, see `journal-scripts.ts`. */
export interface RunStore {
  /**
   * Takes the run for one delivery of its command. With `started` a run that does not exist is made
   * with that first entry; two runners that try at once get one run and two epochs.
   */
  claim(request: {
    runId: string;
    commandDigest: string;
    delivery: string;
    started?: StartedEntry;
  }): Promise<ClaimResult>;
  /** The journal of a run, whole; empty when there is none. */
  load(runId: string): Promise<JournalEntry[]>;
  /**
   * Adds an entry after the `state.length` entries that the holder knows; `after` is the state with
   * it. Rejects with FenceLost when the hold is over.
   */
  append(hold: Hold, entry: JournalEntry, after: RunState, published: number): Promise<void>;
  /** False when the hold is over. */
  renew(hold: Hold): Promise<boolean>;
  /** Notes that the events up to `seq` are in the stream. Rejects with FenceLost. */
  markPublished(hold: Hold, seq: number): Promise<void>;
  /** Gives the run back without counting the attempt. False when the hold was over already. */
  release(hold: Hold): Promise<boolean>;
}

export function openRunStore(redis: Redis, options: { holdMs: number }): RunStore {
  const run = scriptRunner(redis);
  return {
    async claim({ runId, commandDigest, delivery, started }) {
      const first = started === undefined ? NO_ENTRY : encodeEntry(started);
      const columns = started === undefined ? [] : firstColumns(started);
      const reply = await run("yardRunClaim", keysOf(runId, first), [
        commandDigest,
        delivery,
        options.holdMs,
        first.json,
        columns.length,
        ...columns,
        ...first.blobs.values(),
      ]);
      return readClaim(runId, reply);
    },

    async load(runId) {
      const stored = await reach(redis.lrange(journalKey(runId), 0, -1));
      const digests = blobsOf(stored);
      const keys = digests.map((sha) => blobKey(runId, sha));
      const texts = keys.length === 0 ? [] : await reach(redis.mget(keys));
      const blobs = new Map(digests.flatMap((sha, index) => pairIfPresent(sha, texts[index])));
      return stored.map((json) => decodeEntry(json, blobs));
    },

    async append(hold, entry, after, published) {
      const encoded = encodeEntry(entry);
      const columns = ["published", published, ...movingColumns(after)];
      const isProgress = after.progress === after.length;
      const reply = await run("yardRunAppend", keysOf(hold.runId, encoded), [
        hold.epoch,
        after.length - 1,
        encoded.json,
        isProgress ? 1 : 0,
        columns.length,
        ...columns,
        ...encoded.blobs.values(),
      ]);
      if (reply[0] === "ok") return;
      throw new FenceLost(
        reply[0] === "conflict"
          ? `journal of run ${hold.runId} has ${reply[1]} entries, expected ${after.length - 1}`
          : `run ${hold.runId} was taken over from epoch ${hold.epoch}`,
      );
    },

    async renew(hold) {
      const [reply] = await run(
        "yardRunRenew",
        [stateKey(hold.runId)],
        [hold.epoch, options.holdMs],
      );
      return reply === "ok";
    },

    async markPublished(hold, seq) {
      const [reply] = await run("yardRunMarkPublished", [stateKey(hold.runId)], [hold.epoch, seq]);
      if (reply !== "ok")
        throw new FenceLost(`run ${hold.runId} was taken over from epoch ${hold.epoch}`);
    },

    async release(hold) {
      const [reply] = await run("yardRunRelease", [stateKey(hold.runId)], [hold.epoch]);
      return reply === "ok";
    },
  };
}

export function stateKey(runId: string): string {
  return `yard:run:{${runId}}:state`;
}

export function journalKey(runId: string): string {
  return `yard:run:{${runId}}:journal`;
}

function blobKey(runId: string, sha: string): string {
  return `yard:run:{${runId}}:blob:${sha}`;
}

const NO_ENTRY: EncodedEntry = { json: "", blobs: new Map() };

const SCRIPTS = {
  yardRunClaim: CLAIM,
  yardRunAppend: APPEND,
  yardRunRenew: RENEW,
  yardRunMarkPublished: MARK_PUBLISHED,
  yardRunRelease: RELEASE,
} as const;

type Argument = string | number;
type Script = (keyCount: number, ...args: Argument[]) => Promise<string[]>;

function scriptRunner(redis: Redis) {
  for (const [name, lua] of Object.entries(SCRIPTS)) redis.defineCommand(name, { lua });
  // defineCommand adds the scripts as methods, which the client's type cannot know.
  const scripts = redis as unknown as Record<keyof typeof SCRIPTS, Script>;
  return (name: keyof typeof SCRIPTS, keys: string[], args: Argument[]): Promise<string[]> =>
    reach(scripts[name](keys.length, ...keys, ...args));
}

/** Gives every failure of the Redis client one name, so that an outage is not taken for a fault. */
export async function reach<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`Redis did not answer as it should: ${reason}`, { cause: error });
  }
}

function keysOf(runId: string, { blobs }: EncodedEntry): string[] {
  return [
    stateKey(runId),
    journalKey(runId),
    ...[...blobs.keys()].map((sha) => blobKey(runId, sha)),
  ];
}

function firstColumns(started: StartedEntry): string[] {
  const state = startOf(started);
  return [...fixedColumns(state), ...movingColumns(state)];
}

function readClaim(runId: string, reply: string[]): ClaimResult {
  const [outcome, first = "", second, third, fourth] = reply;
  switch (outcome) {
    case "absent":
    case "taken":
      return { outcome };
    case "busy":
      return { outcome, retryMs: Number(first) };
    case "ended":
      return { outcome, hold: { runId, epoch: first }, published: Number(second) };
    case "claimed":
      return {
        outcome,
        hold: { runId, epoch: first },
        attempts: Number(second),
        stalled: Number(third),
        published: Number(fourth),
      };
    default:
      throw new TypeError(`claim answered ${String(outcome)}`);
  }
}

function pairIfPresent(sha: string, text: string | null | undefined): [string, string][] {
  return text === null || text === undefined ? [] : [[sha, text]];
}
