import type { RunReservation } from "@switchyard/contracts/policy/run-claims";
import type { RunFailure } from "@switchyard/contracts/agent-runner/runs";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { blobsOf, decodeEntry, encodeEntry, type EncodedEntry } from "../core/entry-codec.ts";
import { isForeign } from "../core/entry-traits.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { APPEND, BURY, CLAIM, CREATE, MARK_PUBLISHED, RELEASE, RENEW } from "./journal-scripts.ts";
import { defineScripts } from "./redis-scripts.ts";
import { holderOf, runThing } from "./run-storage.ts";
import { textsInRedis, withPlacedTexts, type LargeTexts } from "./large-texts.ts";
import { NO_ARCHIVE, type RunArchive } from "./run-archive.ts";
import type { ReplicaCopies } from "./replica-copies.ts";
import {
  claimArguments,
  readClaim,
  type ClaimRequest,
  type ClaimResult,
  type Hold,
} from "./run-claim.ts";
import { claimKey, claimKeysOf, journalKey, keysOf, stateKey } from "./run-keys.ts";
import { movingColumns, readParent } from "../core/run-summary.ts";
import type { RunState } from "../core/run-state.ts";

/** Another runner holds the run now: a runner that gets this error must stop and may not write or act. */
export class FenceLost extends Error {
  override readonly name = "FenceLost";
}

/** The pause of a released run, and the message that brings it to a runner after that. */
export interface Rest {
  readonly ms: number;
  readonly by: "queue" | "sweeper";
  /** The reason for suspending the run; stored until it is claimed again. */
  readonly reason?: string;
}

/** The runs in Redis. Every write is one script, see `journal-scripts.ts`. */
export interface RunStore {
  /** Registers that this process prepares the run, which need not exist yet: the policy gives it a token then. */
  reserve(run: {
    readonly runId: string;
    readonly parent?: { readonly runId: string } | undefined;
  }): Promise<void>;
  /**
   * Claims the run for one delivery of its command. With `started` a run that does not exist is created with that first entry; two
   * runners that try at once get one run and two epochs.
   */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Returns the whole journal of a run; empty when there is none. */
  load(runId: string): Promise<JournalEntry[]>;
  /** Returns the entries that others wrote after the first `length` ones. Rejects with FenceLost when there is any other entry. */
  requestsAfter(hold: Hold, length: number): Promise<JournalEntry[]>;
  /**
   * Adds entries, all or none, after those that the holder has; `after` is the state with them.
   * Resolves with the entries that others wrote first: then nothing was written. Rejects with FenceLost when the hold is over, and
   * with StoreError when Redis or too many of its replicas are away.
   */
  append(
    hold: Hold,
    entries: readonly JournalEntry[],
    after: RunState,
    published: number,
  ): Promise<JournalEntry[]>;
  /**
   * Gives up a run that cannot be read. Returns the run that waits for its end; null when none does, or the hold was over already.
   */
  bury(hold: Hold, failure: RunFailure, at: string): Promise<StartedEntry["parent"] | null>;
  renew(hold: Hold): Promise<"held" | "cancelled" | "lost">;
  /** Notes that the events up to `seq` are in the stream. Rejects with FenceLost. */
  markPublished(hold: Hold, seq: number): Promise<void>;
  /**
   * Releases the run without counting the attempt, also when Redis does not answer and the run is claimed here again.
   * False when it does not wait for a runner then: the hold was over already, or the run has ended or waits.
   */
  release(hold: Hold, rest: Rest): Promise<boolean>;
}

/** The default time for which a run is stored after its end. */
export const KEEP_SECONDS = 30 * 24 * 3_600;

/** Preparing a run takes as long as the slowest service that it calls. */
const RESERVED_SECONDS = 300;

interface RunStoreOptions {
  readonly holdMs: number;
  /** The time for which a run is stored after its end. */
  readonly keepSeconds?: number;
  /** Identifies this process: SHA-256 of its secret. */
  readonly holder?: string;
  /** The replicas to which entries have to be copied before they count as written. */
  readonly copies?: ReplicaCopies | undefined;
  /** Counts the storage of runs; left out: it is not counted. */
  readonly storage?: Pick<OwnerStorage, "set"> | undefined;
  /** Left out: all texts are in Redis. */
  readonly texts?: Pick<LargeTexts, "place" | "read">;
  /** Left out: all journals are in Redis. */
  readonly archive?: Pick<RunArchive, "noteEnd" | "read">;
}

export function openRunStore(redis: Redis, options: RunStoreOptions): RunStore {
  const { holdMs, keepSeconds = KEEP_SECONDS, holder = "", copies, storage } = options;
  const { texts = textsInRedis(redis), archive = NO_ARCHIVE } = options;
  const run = defineScripts(redis, SCRIPTS);
  const writeEntries = copies === undefined ? run : defineScripts(copies.redis, SCRIPTS);
  /** The epochs of runs that could not be released. */
  const unreleased = new Map<string, string>();

  const { load, readForeign } = journalReader(redis, { texts, archive });

  return {
    async reserve({ runId, parent }) {
      const reservation: RunReservation = { holder, parent: parent?.runId ?? null };
      const text = JSON.stringify(reservation);
      await fromRedis(redis.set(claimKey(runId), text, "EX", RESERVED_SECONDS));
    },

    async claim(request) {
      const { runId, started } = request;
      const first = started && (await withPlacedTexts(texts, runId, encodeEntry(started)));
      const survived = unreleased.get(runId) ?? "";
      const args = [...claimArguments(request, { holdMs, first }), survived, holder];
      const script = started === undefined ? "yardRunClaim" : "yardRunCreate";
      const reply = await run(script, claimKeysOf(runId), args);
      unreleased.delete(runId);
      return readClaim(runId, reply);
    },

    load,

    async requestsAfter(hold, length) {
      return readForeign(hold, await fromRedis(redis.lrange(journalKey(hold.runId), length, -1)));
    },

    async append(hold, entries, after, published) {
      const position = after.length - entries.length;
      const keep = after.end === null ? 0 : keepSeconds;
      const encoding = encodeEntries(texts, hold.runId, entries);
      const encoded = encoding instanceof Promise ? await encoding : encoding;
      const [answer, ...found] = await writeEntries("yardRunAppend", keysOf(hold.runId), [
        hold.epoch,
        position,
        ...appendArguments(entries, encoded, { after, published, keep }),
      ]);
      if (answer === "ok") {
        const { runId, requester } = after.started;
        const ends = keep === 0 ? null : Date.now() + keep * 1_000;
        const holding = { bytes: Number(found[0]), ends };
        storage?.set(holderOf(runId, requester), runThing(runId), holding);
        if (keep > 0) archive.noteEnd(runId);
        await copies?.confirm();
        return [];
      }
      if (answer === "behind" && found.length > 0) return readForeign(hold, found);
      throw lostAt(hold, answer, position);
    },

    async bury(hold, failure, at) {
      const args = [hold.epoch, JSON.stringify(failure), at, keepSeconds];
      const [reply, parent = ""] = await run("yardRunBury", keysOf(hold.runId), args);
      if (reply !== "ok") return null;
      archive.noteEnd(hold.runId);
      return readParent(parent);
    },

    async renew(hold) {
      const [reply] = await run("yardRunRenew", [stateKey(hold.runId)], [hold.epoch, holdMs]);
      if (reply === "cancelled") return reply;
      return reply === "ok" ? "held" : "lost";
    },

    async markPublished(hold, seq) {
      const [reply] = await run("yardRunMarkPublished", [stateKey(hold.runId)], [hold.epoch, seq]);
      if (reply !== "ok") throw lostAt(hold, reply, 0);
    },

    async release(hold, { ms, by, reason = "" }) {
      const { runId, epoch } = hold;
      unreleased.set(runId, epoch);
      // A message that is due has to find a free runner.
      const rest = Math.round(ms) + (by === "queue" ? holdMs : 0);
      const [reply, status] = await run(
        "yardRunRelease",
        [stateKey(runId)],
        [epoch, rest, ms > 0 ? 1 : 0, reason],
      );
      unreleased.delete(runId);
      return reply === "ok" && status === "running";
    },
  };
}

/** Reads and decodes the stored entries of a journal, wherever they are. */
function journalReader(
  redis: Redis,
  {
    texts,
    archive,
  }: { readonly texts: Pick<LargeTexts, "read">; readonly archive: Pick<RunArchive, "read"> },
) {
  const decode = async (
    runId: string,
    stored: readonly string[],
    archived: Readonly<Record<string, string>> = {},
  ): Promise<JournalEntry[]> => {
    const wanted = blobsOf(stored).filter((sha) => !Object.hasOwn(archived, sha));
    const blobs = await texts.read(runId, wanted);
    // The texts may have been moved after the entries were read.
    const moved = blobs.size < wanted.length ? (await archive.read(runId))?.texts : archived;
    for (const [sha, text] of Object.entries(moved ?? {})) blobs.set(sha, text);
    return stored.map((json) => decodeEntry(json, blobs));
  };

  const load = async (runId: string): Promise<JournalEntry[]> => {
    const read = (): Promise<string[]> => fromRedis(redis.lrange(journalKey(runId), 0, -1));
    const stored = await read();
    if (stored.length > 0) return decode(runId, stored);
    const archived = await archive.read(runId);
    // A retry may have put the journal back after the first read.
    return archived === null
      ? decode(runId, await read())
      : decode(runId, archived.entries, archived.texts);
  };

  const readForeign = async ({ runId }: Hold, stored: readonly string[]) => {
    const entries = await decode(runId, stored);
    if (entries.every(isForeign)) return entries;
    throw new FenceLost(`the journal of run ${runId} has entries of another runner`);
  };
  return { load, readForeign };
}

function lostAt({ runId, epoch }: Hold, answer: string | undefined, length: number): FenceLost {
  return new FenceLost(
    answer === "behind"
      ? `the journal of run ${runId} is shorter than ${length} entries`
      : `run ${runId} was taken over from epoch ${epoch}`,
  );
}

/** The name under which the end of a stop is expected once; no call and no run has it. */
export const LIFT = "lift";

const SCRIPTS = {
  yardRunClaim: CLAIM,
  yardRunCreate: CREATE,
  yardRunAppend: APPEND,
  yardRunBury: BURY,
  yardRunRenew: RENEW,
  yardRunMarkPublished: MARK_PUBLISHED,
  yardRunRelease: RELEASE,
} as const;

/** Without long texts nothing is awaited, so scripts are sent in the order of the calls. */
function encodeEntries(
  texts: Pick<LargeTexts, "place">,
  runId: string,
  entries: readonly JournalEntry[],
): EncodedEntry[] | Promise<EncodedEntry[]> {
  const encoded = entries.map(encodeEntry);
  if (encoded.every(({ blobs }) => blobs.size === 0)) return encoded;
  return Promise.all(encoded.map((entry) => withPlacedTexts(texts, runId, entry)));
}

/** Orders the arguments for APPEND, from the number of entries on. */
function appendArguments(
  entries: readonly JournalEntry[],
  encoded: readonly EncodedEntry[],
  {
    after,
    published,
    keep,
  }: { readonly after: RunState; readonly published: number; readonly keep: number },
): (string | number)[] {
  const moving = ["published", published, ...movingColumns(after)];
  const isProgress = after.progress > after.length - entries.length;
  const progress = isProgress ? ["stalled", 0, "rests", 0] : [];
  const columns = [...moving, ...progress, ...entries.flatMap(columnsOf)];
  return [
    entries.length,
    keep,
    columns.length,
    ...encoded.map(({ json }) => json),
    ...columns,
    ...encoded.flatMap(({ blobs }) => [...blobs].flat()),
  ];
}

/**
 * Returns the columns that an entry changes beside the summary: a waiting run is released, and entries about calls and children
 * are expected.
 */
function columnsOf(entry: JournalEntry): (string | number)[] {
  switch (entry.kind) {
    case "waiting":
      return ["heldUntil", 0, "wakeAt", entry.until === null ? 0 : Date.parse(entry.until)];
    case "tool-parked":
      return [`open:${entry.callId}`, 1];
    case "child-started":
      return [`open:${entry.childRunId}`, 1];
    case "stopped":
      return [`open:${LIFT}`, 1];
    default:
      return [];
  }
}
