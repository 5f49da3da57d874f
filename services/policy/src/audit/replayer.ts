import { Worker } from "node:worker_threads";
import type { Handler } from "@switchyard/bus/serve";
import type { RecordedDecision, replayDecisions } from "@switchyard/contracts/policy-replay";
import { threadLimits } from "@switchyard/service/thread-limits";
import type { z } from "zod";
import { splitTexts, type PolicyTexts } from "../bundle/validate.ts";

export interface ReplayJob {
  readonly texts: PolicyTexts;
  readonly decisions: readonly RecordedDecision[];
}

export type ReplayReply = z.infer<(typeof replayDecisions)["reply"]>;

const MAX_AT_A_TIME = 1;
const LIMIT_MS = 15_000;
const MAX_MEMORY_MB = 256;

/** Answers what other rules would have decided. Each question has a thread, so that it holds up no decision. */
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
    const worker = new Worker(new URL("./replay-worker.ts", import.meta.url), {
      workerData: { texts, decisions } satisfies ReplayJob,
      env: {}, // it needs none of the service's keys
      resourceLimits: threadLimits(MAX_MEMORY_MB),
    });
    const timeout = AbortSignal.timeout(limitMs);
    try {
      return await answerOf(worker, AbortSignal.any([signal, timeout]));
    } catch (error) {
      if (signal.aborted || !(timeout.aborted || isOutOfMemory(error))) throw error;
      throw fail.too_costly(
        "The policy took too long or too much memory; replay fewer decisions.",
        {
          limitMs,
        },
      );
    } finally {
      await worker.terminate();
      running -= 1;
    }
  };
}

function answerOf(worker: Worker, signal: AbortSignal): Promise<ReplayReply> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the replay ended without an answer")));
  });
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}
