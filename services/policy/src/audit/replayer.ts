import type { Handler } from "@switchyard/bus/handler";
import type { RecordedDecision, replayDecisions } from "@switchyard/contracts/policy/policy-replay";
import { doInThread } from "@switchyard/service/thread-job";
import type { z } from "zod";
import { splitTexts, type PolicyTexts } from "@switchyard/rules/engine/validate";

export interface ReplayJob {
  readonly texts: PolicyTexts;
  readonly decisions: readonly RecordedDecision[];
}

export type ReplayReply = z.infer<(typeof replayDecisions)["reply"]>;

const MAX_AT_A_TIME = 1;
const LIMIT_MS = 15_000;
const MAX_MEMORY_MB = 256;

/** Replays what other rules would have decided. Each request has a thread, so that it does not block decisions. */
export function createReplayHandler(
  inForce: () => PolicyTexts,
  limitMs = LIMIT_MS,
): Handler<typeof replayDecisions> {
  let running = 0;
  return async ({ files, decisions }, { fail, signal }) => {
    if (running >= MAX_AT_A_TIME)
      throw fail.overloaded("other decisions are being replayed; try again", {
        limit: MAX_AT_A_TIME,
      });
    const texts = files === undefined ? inForce() : splitTexts(files);
    running += 1;
    try {
      const reply = await doInThread<ReplayReply>({
        file: new URL("./replay-worker.ts", import.meta.url),
        data: { texts, decisions } satisfies ReplayJob,
        limitMs,
        maxHeapMb: MAX_MEMORY_MB,
        signal,
      });
      if (reply !== null) return reply;
      throw fail.too_costly(
        "The policy took too long or too much memory; replay fewer decisions.",
        { limitMs },
      );
    } finally {
      running -= 1;
    }
  };
}
