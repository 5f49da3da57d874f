import type { RunLimits } from "@switchyard/contracts/agent-runner/runs";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { encodeEntry } from "../core/entry-codec.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import { textsInRedis, withPlacedTexts, type LargeTexts } from "./large-texts.ts";
import { NO_ARCHIVE, type RunArchive } from "./run-archive.ts";
import { CANCEL, RETRY, APPEND_BY_OTHERS } from "./journal-scripts.ts";
import { defineScripts } from "./redis-scripts.ts";
import { holderOf } from "./run-storage.ts";
import { mayControl } from "./run-access.ts";
import { cancelsKey, keysOf, stateKey } from "./run-keys.ts";
import { noteRetry } from "./run-rows.ts";

/** A request to control a run: its caller and time. */
export interface ControlRequest {
  readonly runId: string;
  readonly by: string;
  readonly at: string;
}

export type CancelOutcome =
  /** The journal has the request; the holder of the run, or its next one, ends it. */
  | "requested"
  /** There is no such run yet; when it comes within a day it is cancelled. */
  | "remembered"
  | "ended"
  | "not_allowed";

export type AppendOutcome =
  /** The journal has it; a run that waited was woken. */
  | "taken"
  /** The same command was applied before. */
  | "known"
  /** No such entry is expected: it was accepted before, or never requested. */
  | "gone"
  | "ended"
  | "unknown"
  | "not_allowed";

export type RetryOutcome = "ok" | "unknown" | "not_allowed" | "running" | "succeeded";

/** Writes about a run by replicas other than its holder. */
export interface RunControls {
  /**
   * `command` names the message of the queue; an applied one is not applied again. Null for a request that cannot come twice.
   * `admit` is called before a request is stored for a run that does not exist, and may reject: a caller can name any number of
   * such runs.
   */
  cancel(
    request: ControlRequest & { reason: string | null; command: string | null },
    admit?: (owner: string) => Promise<void>,
  ): Promise<CancelOutcome>;
  /** Opens an ended run again, so that it can be claimed. */
  retry(
    request: ControlRequest & { limits: RunLimits; command: string; streamSequence: number },
  ): Promise<RetryOutcome>;
  /** Adds an entry to the journal of a run that has not ended. */
  append(news: {
    readonly runId: string;
    readonly entry: JournalEntry;
    /** The caller that must be allowed to control the run; null for entries that runners send each other. */
    readonly by: string | null;
    /** The call or the child run that it is about: each is reported once. */
    readonly expected: string | null;
    /** The message of the queue, which is applied once. */
    readonly command: string | null;
  }): Promise<AppendOutcome>;
}

/** Publishes to the queue that a run may have work; a superfluous wake-up changes nothing. False when it could not be published. */
export type WakeRun = (runId: string) => Promise<boolean>;

const WAKES_NONE: WakeRun = () => Promise.resolve(false);
const REMEMBER_SECONDS = 24 * 3_600;
/** About the bytes of a note with its key. */
const REMEMBERED_BYTES = 1_000;

/** `wake` is called when a run was released and has work now, also when the entry was accepted before. */
export function openRunControls(
  redis: Redis,
  wake: WakeRun = WAKES_NONE,
  storage?: Pick<OwnerStorage, "add">,
  {
    texts = textsInRedis(redis),
    archive = NO_ARCHIVE,
  }: {
    readonly texts?: Pick<LargeTexts, "place">;
    readonly archive?: Pick<RunArchive, "restore">;
  } = {},
): RunControls {
  const run = defineScripts(redis, {
    yardRunCancel: CANCEL,
    yardRunRetry: RETRY,
    yardRunTell: APPEND_BY_OTHERS,
  });
  const wakeIfLetGo = async (runId: string, wakeSeq: string | undefined): Promise<void> => {
    if (wakeSeq !== undefined && wakeSeq !== "0") await wake(runId);
  };
  return {
    async cancel({ runId, by, at, reason, command }, admit) {
      const { json } = encodeEntry({ kind: "cancel-requested", at, by, reason });
      const keys = [...keysOf(runId), cancelsKey(runId)];
      const cancelOr = (remember: 0 | 1): Promise<string[]> =>
        run("yardRunCancel", keys, [by, json, command ?? "", REMEMBER_SECONDS, remember]);
      let [outcome, wakeSeq] = await cancelOr(admit === undefined ? 1 : 0);
      if (outcome === "absent") {
        const owner = holderOf(runId, by);
        await admit?.(owner);
        [outcome, wakeSeq] = await cancelOr(1);
        storage?.add(owner, REMEMBERED_BYTES, REMEMBER_SECONDS * 1_000);
      }
      await wakeIfLetGo(runId, wakeSeq);
      return outcome as CancelOutcome; // the script answers with nothing else
    },

    async retry({ runId, by, at, limits, command, streamSequence }) {
      const { json } = encodeEntry({ kind: "retried", at, by, limits, streamSequence });
      // Before the run is opened: afterwards another replica could serve its old end.
      const [status, requester] = await fromRedis(
        redis.hmget(stateKey(runId), "status", "requester"),
      );
      const isAllowed = typeof requester === "string" && mayControl(by, { requester });
      if (isAllowed && status !== "succeeded") await noteRetry(redis, runId, Date.parse(at));
      for (;;) {
        const [outcome] = await run("yardRunRetry", keysOf(runId), [by, json, command, at]);
        if (outcome !== "archived") return outcome as RetryOutcome; // the script answers with nothing else
        try {
          await archive.restore(runId);
        } catch (error) {
          // A command that fails is delivered again and again, and a run whose journal is lost cannot be opened by any attempt.
          if (error instanceof JournalCorrupt) return "unknown";
          throw error;
        }
      }
    },

    async append({ runId, entry, by, expected, command }) {
      const { json, blobs } = await withPlacedTexts(texts, runId, encodeEntry(entry));
      const [outcome, wakeSeq] = await run("yardRunTell", keysOf(runId), [
        json,
        by ?? "",
        expected ?? "",
        command ?? "",
        ...[...blobs].flat(),
      ]);
      await wakeIfLetGo(runId, wakeSeq);
      return outcome as AppendOutcome; // the script answers with nothing else
    },
  };
}
