import { Worker } from "node:worker_threads";
import type { LintFinding } from "@switchyard/contracts/policy-texts";
import { threadLimits } from "@switchyard/service/thread-limits";
import { compileBundle, type CompiledBundle } from "./compile-bundle.ts";
import { isGood, validate, type PolicyTexts, type Validation } from "./validate.ts";
import { problemLine } from "./yaml-file.ts";

/** A policy that passed everything that it has to pass. */
export interface PolicyInForce {
  readonly bundle: CompiledBundle;
  /** What it was read from. */
  readonly texts: PolicyTexts;
  readonly testCount: number;
  readonly findings: readonly LintFinding[];
}

export type Outcome =
  | { readonly inForce: PolicyInForce; readonly lines: readonly [] }
  | { readonly inForce: null; readonly lines: readonly string[] };

/** What a thread tells of texts: the rules as they were read, because what is made of them cannot leave it. */
export type JudgedApart = Omit<Validation, "bundle">;

interface JudgeOptions {
  /** Texts longer than this together are judged in a thread; decisions wait for those that are not. */
  readonly besideFrom?: number;
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
}

const BESIDE_FROM = 32_768;
const LIMIT_MS = 60_000;
const MAX_MEMORY_MB = 1_024;

/**
 * What texts would bring into force, or why nothing, in lines that begin with the file's name. To read thousands
 * of rules takes seconds, in which nothing may be held up: neither a decision nor the news of what is stopped.
 * Rejects when the signal is aborted.
 */
export async function judgeTexts(texts: PolicyTexts, options: JudgeOptions = {}): Promise<Outcome> {
  const length = [...texts.files, ...texts.tests].reduce((sum, { text }) => sum + text.length, 0);
  if (length <= (options.besideFrom ?? BESIDE_FROM)) return outcomeOf(texts, validate(texts));
  const apart = await judgeApart(texts, options);
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

/** Null when it took too long or too much memory. */
async function judgeApart(
  texts: PolicyTexts,
  { limitMs = LIMIT_MS, signal }: JudgeOptions,
): Promise<JudgedApart | null> {
  const timeout = AbortSignal.timeout(limitMs);
  const worker = new Worker(new URL("./judge-worker.ts", import.meta.url), {
    workerData: texts,
    env: {}, // it needs none of the service's keys
    resourceLimits: threadLimits(MAX_MEMORY_MB),
  });
  try {
    return await new Promise<JudgedApart>((resolve, reject) => {
      for (const each of signal === undefined ? [timeout] : [timeout, signal]) {
        each.addEventListener("abort", () => reject(each.reason), { once: true });
        if (each.aborted) reject(each.reason);
      }
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("the thread ended without an answer")));
    });
  } catch (error) {
    if (signal?.aborted === true || !(timeout.aborted || isOutOfMemory(error))) throw error;
    return null;
  } finally {
    await worker.terminate();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}
