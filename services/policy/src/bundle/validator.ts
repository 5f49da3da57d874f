import { Worker } from "node:worker_threads";
import type { validatePolicy } from "@switchyard/contracts/policy-texts";
import { threadLimits } from "@switchyard/service/thread-limits";
import type { z } from "zod";
import type { PolicyTexts } from "./validate.ts";

export type ValidationReply = z.infer<(typeof validatePolicy)["reply"]>;

/** So many texts are checked at a time one for each caller; each has a thread of its own. */
export const MAX_VALIDATIONS = 2;
/** And so many beside them for a change of what is in force, which does not wait for anybody's trial. */
export const MAX_CHANGES = 1;

const MAX_MEMORY_MB = 256;

export interface Validator {
  /** Null when as many texts as may be are being checked. Rejects when the signal is aborted. */
  validate(texts: PolicyTexts, asked: Asked): Promise<ValidationReply | null>;
}

interface Asked {
  readonly caller: string;
  /** True for what is to be in force; who may change that is looked at before. */
  readonly isChange: boolean;
  readonly signal: AbortSignal;
}

/**
 * Checks texts that anybody may send. Each is checked in a thread that ends when it takes too long
 * or too much memory, so that no text can hold up the decisions.
 */
export function createValidator({ limitMs = 10_000 }: { limitMs?: number } = {}): Validator {
  const trials = new Set<string>();
  let changes = 0;
  return {
    async validate(texts, { caller, isChange, signal }) {
      const isRefused = isChange
        ? changes >= MAX_CHANGES
        : trials.size >= MAX_VALIDATIONS || trials.has(caller);
      if (isRefused) return null;
      if (isChange) changes += 1;
      else trials.add(caller);
      const worker = new Worker(new URL("./validation-worker.ts", import.meta.url), {
        workerData: texts,
        env: {}, // it needs none of the service's keys
        resourceLimits: threadLimits(MAX_MEMORY_MB),
      });
      try {
        return await answerOf(worker, AbortSignal.any([signal, AbortSignal.timeout(limitMs)]));
      } catch (error) {
        if (signal.aborted) throw error;
        if (!isExhausted(error)) throw error;
        return tooCostly;
      } finally {
        await worker.terminate();
        if (isChange) changes -= 1;
        else trials.delete(caller);
      }
    },
  };
}

function answerOf(worker: Worker, signal: AbortSignal): Promise<ValidationReply> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the validation ended without an answer")));
  });
}

function isExhausted(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isOutOfMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isOutOfMemory || error.name === "TimeoutError";
}

const tooCostly: ValidationReply = {
  valid: false,
  policyDigest: null,
  rules: 0,
  problems: [
    {
      in: "bundle",
      line: 1,
      column: 1,
      message: "the checks took too long or too much memory; make the policy or its tests smaller",
    },
  ],
  tests: [],
  findings: [],
};
