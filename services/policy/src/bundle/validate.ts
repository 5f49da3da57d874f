import type { LintFinding, PolicyProblem, PolicyTestResult } from "@switchyard/contracts/policy";
import { compileBundle, type CompiledBundle } from "./compile-bundle.ts";
import { lint } from "../engine/lint.ts";
import { BundleError, parseBundle } from "./parse-bundle.ts";
import { runPolicyTests } from "../engine/policy-tests.ts";
import type { FileProblem } from "./yaml-file.ts";

/** A policy and its tests as they were written; null is a policy without tests. */
export interface PolicyTexts {
  readonly bundleText: string;
  readonly testsText: string | null;
}

export interface Validation {
  /** Null when the text has problems. */
  readonly bundle: CompiledBundle | null;
  readonly problems: readonly PolicyProblem[];
  readonly results: readonly PolicyTestResult[];
  readonly findings: readonly LintFinding[];
}

/** All that is checked before a policy comes into force. Tests run only against a bundle without problems. */
export function validate(bundleText: string, testsText: string | null): Validation {
  try {
    const parsed = parseBundle({ file: "", text: bundleText });
    const bundle = compileBundle(parsed);
    const tested = testsText === null ? NO_TESTS : runPolicyTests(testsText, bundle);
    const problems = tested.problems.map(problemIn("tests"));
    return { bundle, problems, results: tested.results ?? [], findings: lint(parsed) };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    const problems = error.problems.map(problemIn("bundle"));
    return { bundle: null, problems, results: [], findings: [] };
  }
}

function problemIn(where: PolicyProblem["in"]) {
  return ({ line, column, message }: FileProblem): PolicyProblem => ({
    in: where,
    line,
    column,
    message,
  });
}

const NO_TESTS = { results: [], problems: [] } as const;
