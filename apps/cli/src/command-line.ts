import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { buildProgram } from "./program.ts";
import type { Perform } from "./program/command-options.ts";
import { leadingOptionsLast, type GlobalOptions } from "./program/global-options.ts";
import { processTerminal, type Terminal } from "./terminal.ts";
import { VERSION } from "./version.ts";

/** Runs the command that the words name, and sets the exit code of the process. */
export async function runCommandLine(given: readonly string[]): Promise<void> {
  const words = leadingOptionsLast(given);
  const terminal = processTerminal();
  let exitCode: ExitCode = EXIT.ok;
  const perform: Perform = async (options, work) => {
    exitCode = await performed(terminal, options, work);
  };
  // A reader that has seen enough (`yard mcp tools | head`) is not a failure.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
  }
  try {
    const program = buildProgram(VERSION, perform);
    if (words[0] === "__complete") {
      const { complete } = await import("./complete.ts");
      for (const line of await complete(program, words.slice(1))) terminal.out(line);
      // Exits at once: a server that does not answer would keep the shell waiting for the end of this process.
      process.stdout.write("", () => process.exit(EXIT.ok));
      return;
    }
    if (words.includes("--json"))
      (await import("./usage-as-json.ts")).reportUsageAsJson(program, terminal);
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // commander has printed its message; help and version come here too, with 0.
    exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  process.exitCode = exitCode;
}

/** Does the work under the global options, and prints its failure. */
async function performed(
  terminal: Terminal,
  options: GlobalOptions,
  work: (terminal: Terminal) => Promise<ExitCode | void>,
): Promise<ExitCode> {
  const startedAt = Date.now();
  const { json = false, verbose = false } = options;
  const quiet = options.quiet === true ? { ...terminal, note: () => {} } : terminal;
  let isOver: boolean = false;
  const timer = limitTime(options, terminal, () => {
    isOver = true;
  });
  try {
    await refuseRemoved(terminal.env);
    const env = await withInstallation(terminal.env, options);
    await chooseColour(options);
    const code = (await work({ ...quiet, env })) ?? EXIT.ok;
    return isOver ? EXIT.timeout : code;
  } catch (error) {
    const { reportFailure } = await import("./cli-error.ts");
    const code = reportFailure(terminal, error, json);
    if (verbose && !json) for (const line of causes(error)) terminal.error(line);
    return isOver ? EXIT.timeout : code;
  } finally {
    clearTimeout(timer);
    if (verbose && !json) terminal.error(`took ${Date.now() - startedAt} ms`);
  }
}

/** `--timeout`: what follows something stops as at Ctrl-C; anything else is given up. */
function limitTime(
  { timeout, json }: GlobalOptions,
  terminal: Terminal,
  onOver: () => void,
): NodeJS.Timeout | undefined {
  if (timeout === undefined) return undefined;
  return setTimeout(() => {
    onOver();
    if (process.emit("SIGTERM")) return;
    const message = `gave up after ${timeout} s`;
    terminal.error(
      json
        ? JSON.stringify({ schemaVersion: 1, error: { code: "timeout", message, hint: null } })
        : `error: ${message}`,
    );
    process.exit(EXIT.timeout);
  }, timeout * 1_000);
}

/** Throws `usage` for settings of earlier versions: a command must not ignore what a person has set. */
async function refuseRemoved(env: NodeJS.ProcessEnv): Promise<void> {
  const { removedSettings } = await import("@switchyard/service/removed-settings");
  const problems = removedSettings(env).map(({ name, rule }) => `${name} ${rule}`);
  if (problems.length === 0) return;
  const { CliError } = await import("./cli-error.ts");
  throw new CliError("usage", problems.join("; "), { hint: "unset these variables" });
}

/** Options override the variable. Throws `usage` for a gateway that has no valid address. */
async function withInstallation(
  env: NodeJS.ProcessEnv,
  { context, gateway }: GlobalOptions,
): Promise<NodeJS.ProcessEnv> {
  if (gateway === undefined) return context === undefined ? env : { ...env, YARD_CONTEXT: context };
  const { serverAddress } = await import("./server-address.ts");
  return { ...env, YARD_CONTEXT: serverAddress(gateway) };
}

/** Node.js reads these variables when it colours a text. */
async function chooseColour(options: GlobalOptions): Promise<void> {
  const { setting } = await import("./settings.ts");
  const chosen = options.color === false ? "never" : setting("color", process.env).value;
  if (chosen === "never") {
    process.env["NO_COLOR"] = "1";
    delete process.env["FORCE_COLOR"];
  }
  if (chosen === "always" && process.env["NO_COLOR"] === undefined)
    process.env["FORCE_COLOR"] = "1";
}

function causes(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  return [error.stack ?? error.message, ...causes(error.cause).map((line) => `caused by ${line}`)];
}
