import type { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import {
  MAX_LINT_FINDINGS,
  type PolicyTextFile,
  type validatePolicy,
} from "@switchyard/contracts/policy/policy-texts";
import { isGood, splitTexts, validate } from "@switchyard/rules/engine/validate";
import { explain } from "@switchyard/rules/engine/explain";
import { rulesThatDecided } from "@switchyard/rules/engine/policy-tests";
import type { z } from "zod";
import { CliError } from "../cli-error.ts";
import { readPolicyFiles } from "./policy-files.ts";

type Reply = z.output<typeof validatePolicy.reply>;
type Question = z.output<typeof explainPolicy.request>;
type Explanation = z.output<typeof explainPolicy.reply>;

const MAX_PROBLEMS = 100;

/** The rules that the tests of a policy cover. */
export interface Coverage {
  readonly covered: readonly string[];
  readonly untested: readonly string[];
}

/** Validates the files as the policy service would, in this process; no service has to run. */
export async function validateFiles(path: string): Promise<Reply & { coverage: Coverage }> {
  const texts = splitTexts(await readPolicyFiles(path));
  const validation = validate(texts);
  const { bundle, problems, results, findings } = validation;
  return {
    valid: isGood(validation),
    policyDigest: bundle?.digest ?? null,
    rules: bundle?.rules.length ?? 0,
    problems: problems.slice(0, MAX_PROBLEMS),
    tests: [...results],
    findings: findings.slice(0, MAX_LINT_FINDINGS),
    coverage: coverageOf(validation, texts.tests),
  };
}

function coverageOf(
  { bundle }: ReturnType<typeof validate>,
  tests: readonly PolicyTextFile[],
): Coverage {
  if (bundle === null) return { covered: [], untested: [] };
  const decided = new Set(tests.flatMap(({ text }) => [...rulesThatDecided(text, bundle)]));
  const ids = bundle.rules.map(({ id }) => id);
  return {
    covered: ids.filter((id) => decided.has(id)),
    untested: ids.filter((id) => !decided.has(id)),
  };
}

/** Explains how the rules of files would decide about a call, without budgets and stops, which only the service stores. */
export async function explainFiles(path: string, question: Question): Promise<Explanation> {
  const { bundle, problems } = validate(splitTexts(await readPolicyFiles(path)));
  if (bundle === null) {
    const [first] = problems;
    throw new CliError(
      "usage",
      `${first?.file ?? path}:${first?.line ?? 1}: ${first?.message ?? "it is not a policy"}`,
      { hint: `see all that is wrong: ./yard policy lint ${path}` },
    );
  }
  const { user, agent = null, runId = null, roles, tool, args } = question;
  const principal = { user, agent, runId, ...(roles && { roles }) };
  return { ...explain(bundle, { principal, tool, args, layers: null }), principal, tool };
}
