import type { LintFinding } from "@switchyard/contracts/policy/policy-texts";
import { doInThread } from "@switchyard/service/thread-job";
import { compileBundle, type CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import {
  isGood,
  validate,
  type PolicyTexts,
  type Validation,
} from "@switchyard/rules/engine/validate";
import { problemLine } from "@switchyard/service/yaml-file";

/** A policy that passed all checks. */
export interface PolicyInForce {
  readonly bundle: CompiledBundle;
  /** The texts that the bundle was read from. */
  readonly texts: PolicyTexts;
  readonly testCount: number;
  readonly findings: readonly LintFinding[];
}

export type Outcome =
  | { readonly inForce: PolicyInForce; readonly lines: readonly [] }
  | { readonly inForce: null; readonly lines: readonly string[] };

/** A thread's result for texts: the rules in parsed form, because compiled rules cannot be transferred. */
export type CheckedApart = Omit<Validation, "bundle">;

interface CheckOptions {
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
}

/** Texts longer than this together are checked in a thread; decisions wait for those that are not. */
const LARGE = 32_768;
const LIMIT_MS = 60_000;
const MAX_MEMORY_MB = 1_024;

/**
 * Returns the bundle that texts would bring into force, or the problems, in lines that begin with the file's name. Reading
 * thousands of rules takes seconds, in which neither decisions nor updates of the stops may be blocked. Rejects when the signal
 * is aborted.
 */
export async function checkTexts(texts: PolicyTexts, options: CheckOptions = {}): Promise<Outcome> {
  const length = [...texts.files, ...texts.tests].reduce((sum, { text }) => sum + text.length, 0);
  if (length <= LARGE) return outcomeOf(texts, validate(texts));
  const apart = await doInThread<CheckedApart>({
    file: new URL("./check-worker.ts", import.meta.url),
    data: texts,
    limitMs: options.limitMs ?? LIMIT_MS,
    maxHeapMb: MAX_MEMORY_MB,
    signal: options.signal,
  });
  if (apart === null) {
    const file = texts.files[0]?.name ?? "policy";
    return { inForce: null, lines: [`${file}: ${TOO_COSTLY}`] };
  }
  const bundle = apart.parsed === null ? null : compileBundle(apart.parsed);
  return outcomeOf(texts, { ...apart, bundle });
}

const TOO_COSTLY =
  "the checks took too long or too much memory; make the policy or its tests smaller";

function outcomeOf(texts: PolicyTexts, validation: Validation): Outcome {
  const { bundle, problems, results, findings } = validation;
  if (bundle !== null && isGood(validation)) {
    return { inForce: { bundle, texts, testCount: results.length, findings }, lines: [] };
  }
  const failing = results.filter(({ passed }) => !passed);
  const lines = [
    ...problems.map((problem) => problemLine(problem.file ?? "policy", problem)),
    ...failing.map(
      ({ file = "tests", name, line, message }) => `${file}:${line}: test "${name}": ${message}`,
    ),
  ];
  return { inForce: null, lines };
}
