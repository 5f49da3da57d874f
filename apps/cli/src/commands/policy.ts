import type { Bus } from "@switchyard/bus/bus";
import { client } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { findingsText } from "@switchyard/contracts/policy/findings";
import { AgentName, CallerName, RunId } from "@switchyard/contracts/ids";
import {
  explainPolicy,
  type ConsideredRule,
  type RuleMismatch,
} from "@switchyard/contracts/policy/policy-explain";
import { policyTestsPath, validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import { CLI_USER } from "@switchyard/contracts/user-names";
import type { z } from "zod";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { offlineTools } from "../known-tools.ts";
import { namedRun } from "../named-run.ts";
import { namedTool, toolRefOf } from "../named-tool.ts";
import {
  noteUnknownNames,
  noteUnknownUser,
  unknownNames,
  unknownToolErrors,
} from "../unknown-names.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import type { Coverage } from "./policy-offline.ts";

type Explanation = z.infer<typeof explainPolicy.reply>;
type Validation = z.infer<typeof validatePolicy.reply>;

/** Shows how the policy in force decides. Exit 0 whatever it decides: it is a question, not a call. */
export async function explain(
  terminal: Terminal,
  tool: string,
  options: ExplainOptions,
): Promise<void> {
  const reply = await explained(terminal, tool, { ...options, mustExist: true });
  if (options.json) return writeJson(terminal, reply);
  for (const line of explanationLines(reply)) terminal.out(line);
}

/** The decision alone, for scripts: exit 0 when it is allowed, 4 when it is denied or needs an approval. */
export async function check(
  terminal: Terminal,
  tool: string,
  options: ExplainOptions,
): Promise<ExitCode> {
  const { decision } = await explained(terminal, tool, options);
  if (options.json) writeJson(terminal, decision);
  else terminal.out(`${answerOf(decision)}  ${printableLine(decision.reason)}`);
  return decision.effect === "allow" ? EXIT.ok : EXIT.denied;
}

interface ExplainOptions {
  readonly args: string;
  readonly user?: string;
  readonly agent?: string;
  readonly role?: string[];
  readonly run?: string;
  /** Judges rules that are not in force; no service has to run. */
  readonly file?: string;
  readonly json?: true;
  /** True: a tool or an agent that does not exist here is an error. Else it is a note beside the decision. */
  readonly mustExist?: boolean;
}

async function explained(
  terminal: Terminal,
  tool: string,
  options: ExplainOptions,
): Promise<Explanation> {
  const { agent, role: roles, run: runId, file, user, mustExist = false } = options;
  const requestOf = (self: string, written: string) => ({
    user: nameOf("--user", user ?? self, CallerName),
    tool: toolRefOf(written),
    args: parseArguments(options.args),
    ...(agent === undefined ? {} : { agent: nameOf("--agent", agent, AgentName) }),
    ...(roles === undefined ? {} : { roles }),
  });
  const report = (unknown: readonly CliError[]): void => {
    if (mustExist && unknown[0] !== undefined) throw unknown[0];
    noteUnknownNames(terminal, unknown);
  };
  if (file !== undefined) {
    report(unknownToolErrors(tool, offlineTools));
    const runOf = runId === undefined ? {} : { runId: nameOf("--run", runId, RunId) };
    const request = { ...requestOf(CLI_USER, tool), ...runOf };
    return (await import("./policy-offline.ts")).explainFiles(file, request);
  }
  return withBus(await findBus(terminal.env), async (bus) => {
    const whole = await namedTool(bus, tool);
    const run = runId === undefined ? null : await principalOf(bus, runId, options);
    const request = { ...requestOf(run?.user ?? bus.user, whole), ...run };
    report(await unknownNames(bus, { tool: whole, agent }));
    if (user !== undefined) await noteUnknownUser(terminal, bus, user);
    return client(bus, { explainPolicy }).explainPolicy(request);
  });
}

/** The calls of a run are its agent's, for the user that it works for; `--agent` and `--user` replace them. */
async function principalOf(bus: Bus, named: string, { agent, user }: ExplainOptions) {
  const runId = await namedRun(bus, named);
  if (agent !== undefined && user !== undefined) return { runId, user, agent };
  const { run } = await client(bus, { getRun }).getRun({ runId });
  return { runId, user: user ?? run.requester, agent: agent ?? run.agent };
}

function answerOf({ effect, tier }: Explanation["decision"]): string {
  return effect === "ask" ? `ask (${tier ?? "always"})` : effect;
}

/** States what is found in the arguments, and what the decision does with findings in the result and with masks. */
function inspectionLines({ found, inspection }: Explanation["decision"]): string[] {
  const results = Object.entries(inspection?.results ?? {}).map(
    ([kind, { effect, rule }]) => `${kind}: ${effect} (${rule})`,
  );
  return [
    ...(found === undefined ? [] : [`found in the arguments: ${findingsText(found)}`]),
    ...(results.length === 0 ? [] : [`in the result ${results.join(", ")}`]),
    ...(inspection?.unmask.length ? [`unmasks ${inspection.unmask.join(", ")}`] : []),
  ];
}

/** Prints the decision, the rules, and what is missing for an allowance. */
export function explanationLines({
  decision,
  labels = [],
  limits = [],
  considered,
  omitted,
  nearest,
}: Explanation): string[] {
  const lines = [
    `${answerOf(decision)}  ${printableLine(decision.reason)}`,
    `policy ${decision.policyDigest}`,
    ...inspectionLines(decision),
    ...(labels.length === 0 ? [] : [`labels ${labels.join(", ")}`]),
    ...limits.map(
      ({ kind, name, passes, detail }) =>
        `${passes ? "✔" : "✗"} ${kind} ${printableLine(`${name}: ${detail}`)}`,
    ),
    "",
    ...tableLines<ConsideredRule>(
      [
        { title: "RULE", value: ({ rule }) => (rule === decision.rule ? `${rule} ◂` : rule) },
        {
          title: "EFFECT",
          value: ({ effect, tier = "auto" }) => (tier === "auto" ? effect : `ask (${tier})`),
        },
        { title: "MATCH", value: ({ match }) => (match ? "yes" : "no") },
        { title: "FAILED", value: ({ failed }) => failed?.part ?? "" },
        {
          title: "EXPECTED",
          value: ({ failed }) => printableLine(failed?.expected ?? ""),
          maxWidth: 48,
        },
        { title: "GOT", value: ({ failed }) => printableLine(failed?.got ?? ""), maxWidth: 40 },
      ],
      considered,
    ),
  ];
  if (omitted > 0) lines.push(`and ${count(omitted, "more rule")} that do not match`);
  if (nearest !== null) {
    lines.push("", `nearest allow rule: ${nearest.rule}, which does not match because of`);
    lines.push(...nearest.failed.map((failed) => `  ${mismatchText(failed)}`));
  }
  return lines;
}

/** Exit 1 when a test fails or a file has problems. */
export async function test(
  terminal: Terminal,
  file: string | undefined,
  options: { json?: true },
): Promise<ExitCode> {
  const reply = await validation(file, terminal.env);
  const exitCode = reply.valid ? EXIT.ok : EXIT.failed;
  if (options.json) {
    writeJson(terminal, reply);
    return exitCode;
  }
  const testsFile = file === undefined ? "tests" : policyTestsPath(file);
  printProblems(terminal, file, reply);
  for (const { name, file: testFile = testsFile, line, passed, message } of reply.tests) {
    terminal.out(`${passed ? "✔" : "✗"} ${printableLine(name)}`);
    if (message !== null) terminal.out(`  ${printableLine(`${testFile}:${line}: ${message}`)}`);
  }
  const failing = reply.tests.filter(({ passed }) => !passed).length;
  const counts = `${reply.tests.length - failing} passed, ${failing} failed`;
  if (reply.problems.length > 0) {
    const ran = reply.tests.length === 0 ? "no test ran" : `of the other tests ${counts}`;
    terminal.note(`${count(reply.problems.length, "problem")} to correct; ${ran}`);
    return exitCode;
  }
  if (reply.tests.length === 0) {
    terminal.note(`no tests; they are in ${file === undefined ? "<policy>.test.yaml" : testsFile}`);
  } else terminal.note(counts);
  const { covered, untested } = reply.coverage ?? { covered: [], untested: [] };
  if (untested.length > 0) {
    const all = covered.length + untested.length;
    terminal.note(
      `${covered.length} of ${count(all, "rule")} ${covered.length === 1 ? "decides" : "decide"} a test; not: ${untested.join(", ")}`,
    );
  }
  return exitCode;
}

/** Exit 1 when there is a finding or a problem. */
export async function lint(
  terminal: Terminal,
  file: string | undefined,
  options: { json?: true },
): Promise<ExitCode> {
  const reply = await validation(file, terminal.env);
  const isClean = reply.findings.length === 0 && reply.problems.length === 0;
  const exitCode = isClean ? EXIT.ok : EXIT.failed;
  if (options.json) {
    writeJson(terminal, reply);
    return exitCode;
  }
  printProblems(terminal, file, reply);
  for (const { kind, message } of reply.findings) {
    terminal.out(`${kind}  ${printableLine(message)}`);
  }
  if (isClean) terminal.note(`${count(reply.rules, "rule")}, none is doubtful`);
  return exitCode;
}

/** Files are judged here, by the service's own functions; what is in force, by the service. */
async function validation(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Validation & { readonly coverage?: Coverage }> {
  if (file !== undefined) return (await import("./policy-offline.ts")).validateFiles(file);
  return withBus(await findBus(env), (bus) => client(bus, { validatePolicy }).validatePolicy({}));
}

function printProblems(terminal: Terminal, file: string | undefined, reply: Validation): void {
  const names = {
    bundle: file ?? "policy",
    tests: file === undefined ? "tests" : policyTestsPath(file),
  };
  for (const { in: where, file: name, line, column, message } of reply.problems) {
    terminal.out(printableLine(`${name ?? names[where]}:${line}:${column}: ${message}`));
  }
}

function mismatchText({ part, expected, got }: RuleMismatch): string {
  return printableLine(`${part}: got ${got}, expected ${expected}`);
}

function nameOf(option: string, text: string, schema: z.ZodType<string>): string {
  const name = schema.safeParse(text);
  if (name.success) return name.data;
  const why = name.error.issues[0]?.message ?? "is not valid";
  throw new CliError("usage", `${option} ${JSON.stringify(text)} ${why}`);
}

function parseArguments(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw noArguments(error);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw noArguments();
}

function noArguments(cause?: unknown): CliError {
  return new CliError("usage", "the arguments must be a JSON object", {
    hint: `quote them for the shell, such as '{"path":"README.md"}'`,
    cause,
  });
}
