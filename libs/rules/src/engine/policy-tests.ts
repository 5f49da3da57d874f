import { AgentName, CallerName, RunId } from "@switchyard/contracts/ids";
import { MAX_LABELS, ToolLabel, type Decision } from "@switchyard/contracts/policy/policy";
import { findingsText } from "@switchyard/contracts/policy/findings";
import { MAX_POLICY_TESTS, type PolicyTestResult } from "@switchyard/contracts/policy/policy-texts";
import { writtenToolRef } from "@switchyard/contracts/tool-names";
import { RunContext } from "@switchyard/contracts/agent-runner/run-context";
import { MAX_ROLES, RoleName } from "@switchyard/contracts/policy/run-token";
import { z } from "zod";
import { EntryId, objectError } from "../schema/selector-schema.ts";
import type { CompiledBundle } from "../bundle/compile-bundle.ts";
import { WindowMemory } from "../budgets/window-memory.ts";
import { Duration } from "../schema/budget-schema.ts";
import { OUTCOMES } from "../schema/window-schema.ts";
import { decide, type Call } from "./evaluate.ts";
import { outcomeWindows, planWindows } from "./plan-windows.ts";
import { explainIssue } from "../bundle/explain-issue.ts";
import { countsOf } from "@switchyard/service/inspect/count-findings";
import { effectOnResult, inspectedKinds } from "@switchyard/service/inspect/effect-on-result";
import { inspectContent } from "@switchyard/service/inspect/inspect-content";
import { readYaml, type Checked, type FileProblem } from "@switchyard/service/yaml-file";

/** The user of a test that names none: rules about everyone apply, rules about users do not, unless they use `*`. */
const SOME_USER = "some-user";

const ToolText = z
  .string({ error: "must be a text" })
  .refine((text) => writtenToolRef(text) !== null, {
    error: "must be one tool, as mcp__server__tool, server.tool, or the name of a built-in tool",
  });
const Arguments = z.record(z.string(), z.unknown(), { error: "must be a mapping" });
const MAX_EARLIER = 100;

/** A call before the tested one, which was made, unless its outcome is that it was denied. Its caller is that of the test, except for what it states. */
const EarlierCall = z.strictObject(
  {
    ago: Duration,
    tool: ToolText,
    args: Arguments.optional(),
    user: CallerName.optional(),
    agent: AgentName.optional(),
    run: RunId.optional(),
    session: RunContext.shape.session,
    outcome: z.enum(OUTCOMES, { error: `must be ${OUTCOMES.join(" or ")}` }).optional(),
  },
  {
    error: objectError(
      "must be a mapping with ago and tool, and args, user, agent, run, session and outcome where they matter",
    ),
  },
);

const Given = z.strictObject(
  {
    user: CallerName.optional(),
    agent: AgentName.optional(),
    roles: z.array(RoleName, { error: "must be a list of roles" }).max(MAX_ROLES).optional(),
    channel: RunContext.shape.channel,
    group: RunContext.shape.group,
    model: RunContext.shape.model,
    depth: RunContext.shape.depth,
    owner: RunContext.shape.owner,
    replayed: RunContext.shape.replayed,
    labels: z.array(ToolLabel, { error: "must be a list of labels" }).max(MAX_LABELS).optional(),
    run: RunId.optional(),
    session: RunContext.shape.session,
    tool: ToolText,
    args: Arguments.optional(),
    /** The result of the call: a text, or content with texts in it. */
    result: z.unknown().optional(),
    earlier: z
      .array(EarlierCall, { error: "must be a list of calls" })
      .max(MAX_EARLIER, `has more than ${MAX_EARLIER} calls`)
      .optional(),
    at: z.iso
      .datetime({
        offset: true,
        error: "must be a time with its offset, such as 2026-11-27T10:00:00+01:00",
      })
      .optional(),
  },
  {
    error: objectError(
      "must be a mapping with tool, and user, agent, roles, channel, group, model, depth, owner, replayed, run, session, labels, args, result, at and earlier where they matter",
    ),
  },
);

const PolicyTest = z
  .strictObject(
    {
      name: z
        .string({ error: "must be a text" })
        .max(200, "is longer than 200 characters")
        .regex(/^[^\p{Cc}]+$/u, "must be one line of text"),
      given: Given,
      expect: z.enum(["allow", "deny", "ask-session", "ask-always"], {
        error: "must be allow, deny, ask-session or ask-always",
      }),
      by: z.string({ error: "must be the id of a rule" }).max(64).optional(),
      expectResult: z
        .enum(["pass", "mask", "deny"], { error: "must be pass, mask or deny" })
        .optional(),
      /** The rules whose `approve` counts, in any order; an empty list: one approver is enough. */
      approve: z
        .array(EntryId, { error: "must be a list of ids of rules" })
        .max(1_000, "has more than 1,000 entries")
        .optional(),
    },
    { error: objectError("must be a mapping with name, given and expect") },
  )
  .refine(
    ({ given, expectResult }) => (given.result === undefined) === (expectResult === undefined),
    { path: ["expectResult"], error: "goes with result in given, and only with it" },
  );
type PolicyTest = z.infer<typeof PolicyTest>;

const PolicyTests = z.strictObject(
  {
    tests: z
      .array(PolicyTest, { error: "must be a list of tests" })
      .min(1, "is empty; a policy without tests has no such file")
      .max(MAX_POLICY_TESTS, `has more than ${MAX_POLICY_TESTS} tests`),
  },
  { error: objectError("the tests must be a mapping with tests") },
);

export type TestOutcome =
  | { readonly results: readonly PolicyTestResult[]; readonly problems: readonly [] }
  | { readonly results: null; readonly problems: readonly FileProblem[] };

/** Reads tests and runs them against a bundle, with the function that decides about calls. */
export function runPolicyTests(text: string, bundle: CompiledBundle): TestOutcome {
  const file = readYaml(text, checkTests);
  if (file.value === null) return { results: null, problems: file.problems };
  const results = file.value.map((test, index) => {
    const message = failureOf(test, bundle);
    const line = file.lineOf(["tests", index]);
    return { name: test.name, line, passed: message === null, message };
  });
  return { results, problems: [] };
}

/** The ids of the rules that decided at least one of the tests. Empty for a text that cannot be read. */
export function rulesThatDecided(text: string, bundle: CompiledBundle): ReadonlySet<string> {
  const tests = readYaml(text, checkTests).value ?? [];
  return new Set(tests.flatMap((test) => decisionOf(test, bundle).rule ?? []));
}

function failureOf(test: PolicyTest, bundle: CompiledBundle): string | null {
  const { expect, by } = test;
  const decision = decisionOf(test, bundle);
  const answer = answerOf(decision);
  const isBy = by === undefined || decision.rule === by;
  const approve = approveText(test.approve);
  const isApproved = approve === null || approve === approveText(decision.approveRules ?? []);
  const result = resultText(test, decision);
  if (answer === expect && isBy && isApproved) return result;
  const rule = by === undefined ? expect : `${expect} by ${by}`;
  const wanted = approve === null ? rule : `${rule} with approve of ${approve}`;
  return `expected ${wanted}, got ${outcomeText(decision)}`;
}

/** Inspects the result as a tool provider would; a denied call has none. */
function resultText({ given, expectResult }: PolicyTest, decision: Decision): string | null {
  if (expectResult === undefined) return null;
  const { inspection = { results: {}, unmask: [] }, effect } = decision;
  if (effect === "deny") return `expected the result to ${expectResult}, and the call is denied`;
  const { found } = inspectContent(given.result, inspectedKinds(inspection));
  const got = effectOnResult(inspection, found);
  if (got.effect === expectResult) return null;
  const counts = findingsText(countsOf(found)) || "nothing";
  return `expected the result to ${expectResult}, got ${got.effect}: found ${counts}`;
}

function approveText(rules: readonly string[] | undefined): string | null {
  if (rules === undefined) return null;
  return rules.length === 0 ? "no rule" : [...new Set(rules)].toSorted().join(", ");
}

function decisionOf({ given }: PolicyTest, bundle: CompiledBundle): Decision {
  const call = callOf(given);
  // Only the time between calls matters to windows, so a test without a time may be at any.
  const nowMs = given.at === undefined ? 0 : Date.parse(given.at);
  const memory = new WindowMemory();
  for (const [index, { ago, outcome, ...stated }] of (given.earlier ?? []).entries()) {
    const { at: _, earlier: __, args: ___, result: ____, ...caller } = given;
    const earlier = callOf({ ...caller, ...stated });
    const made = outcome === "denied" ? null : planWindows(bundle, earlier);
    const windows = [
      ...(made?.windows ?? []),
      ...(outcome === undefined ? [] : outcomeWindows(bundle, earlier, outcome)),
    ];
    memory.record({ windows }, String(index), nowMs - ago);
  }
  const plan = planWindows(bundle, call);
  if (plan === null) return decide(bundle, call);
  const atBest = decide(bundle, plan.atBest);
  if (atBest.effect === "deny") return atBest;
  return decide(bundle, plan.withReadings(memory.read(plan, nowMs)));
}

/** The run of a test with an agent that names none. */
const SOME_RUN = "some-run";

function callOf(given: Omit<PolicyTest["given"], "earlier">): Call {
  const tool = writtenToolRef(given.tool);
  if (tool === null) throw new TypeError(`no tool: ${given.tool}`); // excluded by the schema
  const { user = SOME_USER, agent = null, roles, labels, args = {}, at } = given;
  const { channel, group, model, depth, owner, replayed, session } = given;
  const context = { channel, group, model, depth, owner, replayed, session };
  const principal = {
    user,
    agent,
    runId: given.run ?? (agent === null ? null : SOME_RUN),
    ...(roles && { roles }),
    ...(Object.values(context).some((fact) => fact !== undefined) && { context }),
  };
  const server = labels && { labels };
  const facts = at === undefined ? {} : { nowMs: Date.parse(at) };
  return { principal, tool, args, layers: null, server, facts };
}

function answerOf({ effect, tier }: Decision): string {
  return effect === "ask" ? `ask-${tier ?? "always"}` : effect;
}

function outcomeText(decision: Decision): string {
  const { rule, reason } = decision;
  const { approveRules = [] } = decision;
  const approve = approveRules.length === 0 ? "" : ` with approve of ${approveRules.join(", ")}`;
  const answer = `${answerOf(decision)}${approve}`;
  return rule === null ? `${answer}: ${reason}` : `${answer} by ${rule}: ${reason}`;
}

function checkTests(content: unknown): Checked<readonly PolicyTest[]> {
  const parsed = PolicyTests.safeParse(content, { reportInput: true });
  if (parsed.success) return { value: parsed.data.tests, problems: [] };
  const problems = parsed.error.issues.flatMap((issue) => explainIssue(issue, testKeys));
  return { value: null, problems };
}

function testKeys(path: readonly PropertyKey[]): readonly string[] {
  const [, test, part, section] = path;
  if (test === undefined) return Object.keys(PolicyTests.shape);
  if (section !== undefined) return Object.keys(EarlierCall.shape);
  return Object.keys(part === undefined ? PolicyTest.shape : Given.shape);
}
