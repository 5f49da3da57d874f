import { describeFailure } from "../cli-error.ts";
import { clientChecks, isClientOnly } from "../doctor/bus-checks.ts";
import { failed, type Check } from "../doctor/check.ts";
import { instanceChecks } from "../doctor/instance-checks.ts";
import { checkNode, machineChecks } from "../doctor/machine-checks.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { stateDirectory } from "../locations.ts";
import { printable } from "../printable.ts";
import { writeJson, type Style, type Terminal } from "../terminal.ts";
import { brokenLines, screenWidth } from "../table.ts";

const MARKS: Readonly<Record<Check["status"], readonly [mark: string, style: Style]>> = {
  ok: ["✓", "green"],
  warning: ["⚠", "yellow"],
  failed: ["✗", "red"],
  skipped: ["–", "dim"],
};

/** `yard doctor`: exit 1 when a check failed. It changes nothing but, with `--fix`, what is safe to put right. */
export async function doctor(
  terminal: Terminal,
  options: { json?: true; fix?: true },
): Promise<ExitCode> {
  const first = await allChecks(terminal.env);
  const fixed = options.fix === true ? await repaired(first) : [];
  for (const line of fixed) terminal.note(printable(line));
  const checks = fixed.length === 0 ? first : await allChecks(terminal.env);
  const status = checks.some((check) => check.status === "failed")
    ? "failed"
    : checks.some((check) => check.status === "warning")
      ? "warning"
      : "ok";
  if (options.json === true) writeJson(terminal, { status, checks: checks, fixed });
  else for (const line of checkLines(checks, terminal.paintOut)) terminal.out(line);
  return status === "failed" ? EXIT.failed : EXIT.ok;
}

function allChecks(env: NodeJS.ProcessEnv): Promise<Check[]> {
  return isClientOnly(env)
    ? clientChecks(env).then((found) => [checkNode(process.versions.node), ...found])
    : localChecks(env);
}

/** Runs the repairs of the checks, one after the other, and returns a line about each. */
export async function repaired(checks: readonly Check[]): Promise<string[]> {
  const said: string[] = [];
  for (const { id, repair } of checks) {
    if (repair === undefined) continue;
    said.push(
      await repair().then(
        (done) => `fixed: ${done}`,
        (error: unknown) => `${id} could not be fixed: ${describeFailure(error).message}`,
      ),
    );
  }
  return said;
}

/** The machine, and what `yard dev` runs on it. */
async function localChecks(env: NodeJS.ProcessEnv): Promise<Check[]> {
  const state = stateDirectory(env);
  const instance = instanceChecks(state).catch((error: unknown) => {
    const { message, hint } = describeFailure(error);
    return [failed("instance", message, hint ?? "see: yard dev --help")];
  });
  return [...(await machineChecks(env, state)), ...(await instance)];
}

/** A row for each check, and below it what to do. */
export function checkLines(
  checks: readonly Check[],
  paint: (style: Style, text: string) => string,
): string[] {
  const width = Math.max(...checks.map(({ id }) => id.length));
  const indent = " ".repeat(width + 4);
  const beside = Math.max(24, screenWidth() - indent.length);
  return checks.flatMap(({ id, status, summary, fix }) => {
    const [mark, style] = MARKS[status];
    const [first = "", ...rest] = brokenLines(printable(summary), beside);
    const row = `${paint(style, mark)} ${id.padEnd(width)}  ${first}`;
    const lines = [row, ...rest.map((line) => indent + line)];
    return fix === null ? lines : [...lines, `${indent}→ ${fix}`];
  });
}
