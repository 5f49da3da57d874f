import type { Handler } from "@switchyard/bus/handler";
import type { RecordedDecision, replayDecisions } from "@switchyard/contracts/policy/policy-replay";
import { doInThread } from "@switchyard/service/thread-job";
import type { z } from "zod";
import { splitTexts, type PolicyTexts } from "@switchyard/rules/engine/validate";

export interface ReplayJob {
  readonly texts: PolicyTexts;
  readonly decisions: readonly RecordedDecision[];
  /** The keys of recorded values. */
  readonly keys: readonly Uint8Array[];
  readonly mayOpen: boolean;
}

export interface ReplayOptions {
  /** Returns the texts of the bundle in force. */
  readonly inForce: () => PolicyTexts;
  readonly keys: readonly Uint8Array[];
  /** True when the user may replay rules on arguments that the audit has encrypted. */
  readonly mayOpen: (user: string) => boolean;
  /** Records that so many encrypted arguments are read for a user. */
  readonly onOpen: (opened: {
    readonly caller: string;
    readonly count: number;
    readonly requestId: string;
  }) => void;
  readonly limitMs?: number;
}

export type ReplayReply = z.infer<(typeof replayDecisions)["reply"]>;

const MAX_AT_A_TIME = 1;
const LIMIT_MS = 15_000;
const MAX_MEMORY_MB = 256;

/** Replays what other rules would have decided. Each request has a thread, so that it does not block decisions. */
export function createReplayHandler({
  inForce,
  keys,
  mayOpen: mayOpenAll,
  onOpen,
  limitMs = LIMIT_MS,
}: ReplayOptions): Handler<typeof replayDecisions> {
  let running = 0;
  return async ({ files, decisions }, { fail, signal, caller, correlationId }) => {
    if (running >= MAX_AT_A_TIME)
      throw fail.overloaded("other decisions are being replayed; try again", {
        limit: MAX_AT_A_TIME,
      });
    const texts = files === undefined ? inForce() : splitTexts(files);
    const sealed = decisions.filter(({ values }) => values?.sealed !== undefined).length;
    const mayOpen = mayOpenAll(caller);
    if (mayOpen && sealed > 0) onOpen({ caller, count: sealed, requestId: correlationId });
    running += 1;
    try {
      const reply = await doInThread<ReplayReply>({
        file: new URL("./replay-worker.ts", import.meta.url),
        data: { texts, decisions, keys, mayOpen } satisfies ReplayJob,
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
