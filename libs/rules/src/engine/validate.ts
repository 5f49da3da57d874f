/* oxlint-disable oxc/no-map-spread -- the entries are shared with the caller, so they have to be copied */
import {
  type LintFinding,
  type PolicyProblem,
  type PolicyTestResult,
  type PolicyTextFile,
  isPolicyTests,
  MAX_POLICY_TESTS,
} from "@switchyard/contracts/policy/policy-texts";
import type { Bundle } from "../schema/bundle.ts";
import { compileBundle, type CompiledBundle } from "../bundle/compile-bundle.ts";
import { lint } from "./lint.ts";
import { BundleError, parseBundleFiles } from "../bundle/parse-bundle.ts";
import { runPolicyTests } from "./policy-tests.ts";

/** A policy and its tests as they were written, each in one file or several. */
export interface PolicyTexts {
  readonly files: readonly PolicyTextFile[];
  readonly tests: readonly PolicyTextFile[];
}

export interface Validation {
  /** Null when the text has problems. */
  readonly bundle: CompiledBundle | null;
  /** The parsed bundle behind `bundle`. */
  readonly parsed: Bundle | null;
  readonly problems: readonly PolicyProblem[];
  readonly results: readonly PolicyTestResult[];
  readonly findings: readonly LintFinding[];
}

/** Runs all checks that a policy has to pass before it comes into force. Tests run only against a bundle without problems. */
export function validate({ files, tests }: PolicyTexts): Validation {
  try {
    const parsed = parseBundleFiles(files.map(({ name, text }) => ({ file: name, text })));
    const bundle = compileBundle(parsed);
    const tested = tests.map(({ name, text }) => ({ name, ...runPolicyTests(text, bundle) }));
    const problems = tested.flatMap(({ name, problems: found }) =>
      found.map((problem): PolicyProblem => ({ in: "tests", file: name, ...problem })),
    );
    const results = tested.flatMap(({ name, results: ran }) =>
      (ran ?? []).map((result) => ({ ...result, file: name })),
    );
    if (results.length > MAX_POLICY_TESTS) {
      const message = `the files have more than ${MAX_POLICY_TESTS} tests together`;
      problems.push({ in: "tests", line: 1, column: 1, message });
    }
    return {
      bundle,
      parsed,
      problems,
      results: results.slice(0, MAX_POLICY_TESTS),
      findings: lint(parsed),
    };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    const problems = error.problems.map((problem): PolicyProblem => ({ in: "bundle", ...problem }));
    return { bundle: null, parsed: null, problems, results: [], findings: [] };
  }
}

/** True when the policy may come into force. */
export function isGood({ bundle, problems, results }: Validation): boolean {
  return bundle !== null && problems.length === 0 && results.every(({ passed }) => passed);
}

/** Splits files of rules from files of tests, by their names. */
export function splitTexts(files: readonly PolicyTextFile[]): PolicyTexts {
  return {
    files: files.filter(({ name }) => !isPolicyTests(name)),
    tests: files.filter(({ name }) => isPolicyTests(name)),
  };
}
