import type { RunLimits } from "@switchyard/contracts/runs";
import type { Redis } from "@switchyard/service/redis";
import { encodeEntry } from "../journal/entry-codec.ts";
import { CANCEL, RETRY } from "../journal/journal-scripts.ts";
import { defineScripts } from "../journal/redis-scripts.ts";
import { cancelsKey, keysOf } from "../journal/run-store.ts";

/** Who wants something of a run, and when. */
export interface Asked {
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

export type RetryOutcome = "ok" | "unknown" | "not_allowed" | "running" | "succeeded";

/** What somebody other than the holder of a run may write about it. */
export interface RunControls {
  /** `command` names the message of the queue; an applied one is not applied again. Null for a request that cannot come twice. */
  cancel(asked: Asked & { reason: string | null; command: string | null }): Promise<CancelOutcome>;
  /** Opens an ended run again, so that it can be claimed. */
  retry(
    asked: Asked & { limits: RunLimits; command: string; streamSequence: number },
  ): Promise<RetryOutcome>;
}

const REMEMBER_SECONDS = 24 * 3_600;

export function openRunControls(redis: Redis): RunControls {
  const run = defineScripts(redis, { yardRunCancel: CANCEL, yardRunRetry: RETRY });
  return {
    async cancel({ runId, by, at, reason, command }) {
      const { json } = encodeEntry({ kind: "cancel-requested", at, by, reason });
      const [outcome] = await run(
        "yardRunCancel",
        [...keysOf(runId), cancelsKey(runId)],
        [by, json, command ?? "", REMEMBER_SECONDS],
      );
      return outcome as CancelOutcome; // the script answers with nothing else
    },

    async retry({ runId, by, at, limits, command, streamSequence }) {
      const { json } = encodeEntry({ kind: "retried", at, by, limits, streamSequence });
      const [outcome] = await run("yardRunRetry", keysOf(runId), [by, json, command, at]);
      return outcome as RetryOutcome; // the script answers with nothing else
    },
  };
}
