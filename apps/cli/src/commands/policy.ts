import { readFile, stat } from "node:fs/promises";
import { client } from "@switchyard/bus/call";
import { AgentName, CallerName } from "@switchyard/contracts/ids";
import {
  explainPolicy,
  MAX_POLICY_TEXT,
  policyTestsPath,
  validatePolicy,
  writtenToolRef,
  type ConsideredRule,
  type RuleMismatch,
} from "@switchyard/contracts/policy";
import type { z } from "zod";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

type Explanation = z.infer<typeof explainPolicy.reply>;
type Validation = z.infer<typeof validatePolicy.reply>;

/** Shows how the policy in force decides. Exit 0 whatever it decides: it is a question, not a call. */
export async function explain(
  terminal: Terminal,
  tool: string,
  options: { args: string; user?: string; agent?: string; json?: true },
): Promise<void> {
  const ref = writtenToolRef(tool);
  if (ref === null) {
    throw new CliError("usage", `${JSON.stringify(tool)} names no tool`, {
      hint: "write mcp__server__tool, server.tool, or the name of a built-in tool; see ./yard mcp tools",
    });
  }
  const target = await findBus(process.env);
  const { agent } = options;
  const request = {
    user: nameOf("--user", options.user ?? target.user, CallerName),
    tool: ref,
    args: parseArguments(options.args),
    ...(agent === undefined ? {} : { agent: nameOf("--agent", agent, AgentName) }),
  };
  const reply = await withBus(target, (bus) =>
    client(bus, { explainPolicy }).explainPolicy(request),
  );
  if (options.json) return writeJson(terminal, reply);
  for (const line of explanationLines(reply)) terminal.out(line);
}

/** The decision, the rules, and what is missing for an allowance. */
export function explanationLines({
  decision,
  considered,
  omitted,
  nearest,
}: Explanation): string[] {
  const lines = [
    `${decision.effect}  ${printableLine(decision.reason)}`,
    `policy ${decision.policyDigest}`,
    "",
    ...tableLines<ConsideredRule>(
      [
        { title: "RULE", value: ({ rule }) => (rule === decision.rule ? `${rule} ◂` : rule) },
        { title: "EFFECT", value: ({ effect }) => effect },
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
  const reply = await validation(file);
  const exitCode = reply.valid ? EXIT.ok : EXIT.failed;
  if (options.json) {
    writeJson(terminal, reply);
    return exitCode;
  }
  const testsFile = file === undefined ? "tests" : policyTestsPath(file);
  tellProblems(terminal, file, reply);
  for (const { name, line, passed, message } of reply.tests) {
    terminal.out(`${passed ? "✔" : "✗"} ${printableLine(name)}`);
    if (message !== null) terminal.out(`  ${printableLine(`${testsFile}:${line}: ${message}`)}`);
  }
  const failing = reply.tests.filter(({ passed }) => !passed).length;
  if (reply.tests.length === 0 && reply.problems.length === 0) {
    terminal.note(`no tests; they are in ${file === undefined ? "<policy>.test.yaml" : testsFile}`);
  } else terminal.note(`${reply.tests.length - failing} passed, ${failing} failed`);
  return exitCode;
}

/** Exit 1 when there is a finding or a problem. */
export async function lint(
  terminal: Terminal,
  file: string | undefined,
  options: { json?: true },
): Promise<ExitCode> {
  const reply = await validation(file);
  const isClean = reply.findings.length === 0 && reply.problems.length === 0;
  const exitCode = isClean ? EXIT.ok : EXIT.failed;
  if (options.json) {
    writeJson(terminal, reply);
    return exitCode;
  }
  tellProblems(terminal, file, reply);
  for (const { kind, message } of reply.findings) {
    terminal.out(`${kind}  ${printableLine(message)}`);
  }
  if (isClean) terminal.note(`${count(reply.rules, "rule")}, none is doubtful`);
  return exitCode;
}

async function validation(file: string | undefined): Promise<Validation> {
  const texts = file === undefined ? {} : await readTexts(file);
  return withBus(await findBus(process.env), (bus) =>
    client(bus, { validatePolicy }).validatePolicy(texts),
  );
}

async function readTexts(file: string): Promise<{ bundleText: string; testsText?: string }> {
  const bundleText = await readText(file);
  if (bundleText === null) {
    throw new CliError("directory_missing", `there is no policy file ${file}`);
  }
  const testsText = await readText(policyTestsPath(file));
  return testsText === null ? { bundleText } : { bundleText, testsText };
}

/** Null when there is no such file. */
async function readText(file: string): Promise<string | null> {
  const found = await stat(file).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
  if (found === null) return null;
  if (!found.isFile() || found.size > MAX_POLICY_TEXT) {
    throw new CliError("usage", `${file} is no file of at most ${MAX_POLICY_TEXT} bytes`);
  }
  return readFile(file, "utf8");
}

function tellProblems(terminal: Terminal, file: string | undefined, reply: Validation): void {
  const names = {
    bundle: file ?? "policy",
    tests: file === undefined ? "tests" : policyTestsPath(file),
  };
  for (const { in: where, line, column, message } of reply.problems) {
    terminal.out(printableLine(`${names[where]}:${line}:${column}: ${message}`));
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
