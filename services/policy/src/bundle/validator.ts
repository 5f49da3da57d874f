import { Worker } from "node:worker_threads";
import type { validatePolicy } from "@switchyard/contracts/policy-texts";
import { threadLimits } from "@switchyard/service/thread-limits";
import type { z } from "zod";
import type { PolicyTexts } from "./validate.ts";

export type ValidationReply = z.infer<(typeof validatePolicy)["reply"]>;

/** So many texts are checked at a time; each has a thread of its own. */
export const MAX_VALIDATIONS = 2;

const MAX_MEMORY_MB = 256;

export interface Validator {
  /** Null when as many texts as may be are being checked. Rejects when the signal is aborted. */
  validate(texts: PolicyTexts, signal: AbortSignal): Promise<ValidationReply | null>;
}

/**
 * Checks texts that anybody may send. Each is checked in a thread that ends when it takes too long
 * or too much memory, so that no text can hold up the decisions.
 */
export function createValidator({ limitMs = 10_000 }: { limitMs?: number } = {}): Validator {
  let running = 0;
  return {
    async validate(texts, signal) {
      if (running >= MAX_VALIDATIONS) return null;
      running += 1;
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
        running -= 1;
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
