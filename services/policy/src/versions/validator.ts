import type { validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import { doInThread } from "@switchyard/service/thread-job";
import type { z } from "zod";
import type { PolicyTexts } from "@switchyard/rules/engine/validate";

export type ValidationReply = z.infer<(typeof validatePolicy)["reply"]>;

/** So many texts are checked at a time one for each caller; each has a thread of its own. */
export const MAX_VALIDATIONS = 2;
/** Slots in addition for changes of the policy in force, which do not wait for anyone's trial. */
export const MAX_CHANGES = 1;

const MAX_MEMORY_MB = 256;

export interface Validator {
  /** Null when as many texts as may be are being checked. Rejects when the signal is aborted. */
  validate(texts: PolicyTexts, by: Asked): Promise<ValidationReply | null>;
}

interface Asked {
  readonly caller: string;
  /** True for a change of the policy in force; the caller's right to it is checked before. */
  readonly isChange: boolean;
  readonly signal: AbortSignal;
}

/**
 * Checks texts that any user may send. Each is checked in a thread that ends when it takes too long or too much memory, so that
 * no text can block the decisions.
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
      try {
        const reply = await doInThread<ValidationReply>({
          file: new URL("./validation-worker.ts", import.meta.url),
          data: texts,
          limitMs,
          maxHeapMb: MAX_MEMORY_MB,
          signal,
        });
        return reply ?? tooCostly;
      } finally {
        if (isChange) changes -= 1;
        else trials.delete(caller);
      }
    },
  };
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
