import { z } from "zod";
import { rpc } from "../define.ts";
import { Digest } from "../ids.ts";

/** A mistake in a policy file or in its tests. Lines and columns count from 1. */
export const PolicyProblem = z.object({
  in: z.enum(["bundle", "tests"]),
  /** The file, when there are several. */
  file: z.string().optional(),
  line: z.int(),
  column: z.int(),
  message: z.string(),
});
export type PolicyProblem = z.infer<typeof PolicyProblem>;

export const PolicyTestResult = z.object({
  name: z.string(),
  /** The file, when there are several. */
  file: z.string().optional(),
  /** The line of the test in its file, from 1. */
  line: z.int(),
  passed: z.boolean(),
  /** The expected and the actual decision; null when it passed. */
  message: z.string().nullable(),
});
export type PolicyTestResult = z.infer<typeof PolicyTestResult>;

/**
 * A rule that is valid by the schema and most likely not meant. `dead`: an allow rule that a deny rule without conditions covers wholly.
 * `shadowed`: an allow rule whose every call a stricter allow rule covers, so that it never decides. `duplicate`: a rule with the effect
 * and the selectors of another. `conflict`: an allow rule with the selectors of a deny rule. `open-shell`: one that allows commands by
 * their beginning and leaves them to a shell. `unknown-tools`: an allow list of a layer or profile that names only tools that do not exist.
 * `unapprovable`: one whose `approve` needs more people than it names. `incomplete`: the bundle has more pairs than are compared.
 */
export const LintFinding = z.object({
  kind: z.enum([
    "dead",
    "shadowed",
    "duplicate",
    "conflict",
    "unknown-tools",
    "open-shell",
    "unapprovable",
    "incomplete",
  ]),
  /** Null when it is about the whole bundle. */
  rule: z.string().nullable(),
  message: z.string(),
});
export type LintFinding = z.infer<typeof LintFinding>;

export const MAX_POLICY_TEXT = 1_048_576;
export const MAX_POLICY_TESTS = 1_000;
export const MAX_POLICY_FILES = 64;

/** One file of a bundle or of its tests. */
export const PolicyTextFile = z.strictObject({
  /** Its name without directories. */
  name: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_. -]{0,127}$/, "must be a plain file name"),
  text: z.string().max(MAX_POLICY_TEXT),
});
export type PolicyTextFile = z.infer<typeof PolicyTextFile>;

/** The files of a bundle, in any order; those whose name ends in `.test.yaml` or `.test.yml` are tests. */
export const PolicyFiles = z
  .array(PolicyTextFile)
  .min(1)
  .max(MAX_POLICY_FILES)
  .refine((files) => new Set(files.map(({ name }) => name)).size === files.length, {
    error: "names a file twice",
  })
  .refine((files) => files.reduce((sum, { text }) => sum + text.length, 0) <= MAX_POLICY_TEXT, {
    error: "has more than 1 MiB of text",
  });

/** True for a file of tests, by its name. */
export function isPolicyTests(name: string): boolean {
  return /\.test\.ya?ml$/.test(name);
}

export const MAX_LINT_FINDINGS = 200;

/** Runs the checks that a policy file has to pass before it comes into force, on any text. */
export const validatePolicy = rpc({
  subject: "yard.rpc.{caller}.policy.validate",
  summary: "Checks a policy text, runs its tests and lints it; changes nothing.",
  role: "viewer",
  request: z.strictObject({
    /** Left out: the bundle and the tests in force. */
    bundleText: z.string().max(MAX_POLICY_TEXT).optional(),
    /** The tests for `bundleText`; without it they run against the bundle in force. */
    testsText: z.string().max(MAX_POLICY_TEXT).optional(),
    /** Replaces both: a bundle of several files, with its test files. */
    files: PolicyFiles.optional(),
  }),
  reply: z.object({
    /** True when the bundle could come into force: no problem, and no test fails. */
    valid: z.boolean(),
    policyDigest: Digest.nullable(),
    rules: z.int().nonnegative(),
    problems: z.array(PolicyProblem).max(100),
    tests: z.array(PolicyTestResult).max(MAX_POLICY_TESTS),
    findings: z.array(LintFinding).max(MAX_LINT_FINDINGS),
  }),
  errors: {
    /** The limit of texts that are checked at a time is reached. */
    overloaded: { data: z.object({ limit: z.int() }), retryable: true },
  },
  timeoutMs: 20_000,
});

/** The path of the tests of a policy file: `demo.yaml` has them in `demo.test.yaml` beside it. */
export function policyTestsPath(policyPath: string): string {
  return policyPath.replace(
    /(?<=[^/\\])\.(ya?ml)$|$/,
    (_, ending?: string) => `.test.${ending ?? "yaml"}`,
  );
}
