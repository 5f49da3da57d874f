import { stat } from "node:fs/promises";
import { join } from "node:path";
import { checkedAgents } from "../commands/agents-check.ts";
import { validateFiles } from "../commands/policy-offline.ts";
import { CliError } from "../cli-error.ts";
import { printableLine } from "../printable.ts";
import { shellWord } from "../shell-word.ts";
import type { Project } from "./project.ts";
import type { StackReport } from "./stack-report.ts";

/**
 * Checks what a person writes before anything is started. Throws `invalid_project` with a line for each problem of the policy and
 * each failed test of it; what is wrong with an agent is a warning, since the others work.
 */
export async function checkProject(
  { directory, policyFile }: Project,
  report: StackReport,
): Promise<void> {
  const [policy, agents] = await Promise.all([
    validateFiles(policyFile),
    agentsOf(join(directory, "agents")),
  ]);
  const failed = policy.tests.filter(({ passed }) => !passed);
  const lines = [
    ...policy.problems.map(
      ({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`,
    ),
    ...failed.map(
      ({ file, line, name, message }) =>
        `${file ?? "the test"}:${line}: the test ${JSON.stringify(name)} fails: ${message ?? ""}`,
    ),
  ];
  if (lines.length > 0)
    throw new CliError("invalid_project", ["the policy cannot be used:", ...lines].join("\n  "), {
      hint: `correct it, and check it without starting anything: ./yard policy test ${shellWord(policyFile)}`,
    });
  for (const { file, verdict, diagnostics } of agents)
    for (const { severity, message, line } of diagnostics)
      if (severity === "error" || (severity === "warning" && verdict !== "not_an_agent"))
        report.warn(
          printableLine(`the agent ${file}${line === null ? "" : `:${line}`}: ${message}`),
        );
}

async function agentsOf(directory: string): ReturnType<typeof checkedAgents> {
  return (await stat(directory).catch(() => null)) === null ? [] : checkedAgents(directory);
}
