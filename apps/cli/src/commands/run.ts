import { randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { AgentName, fullRunId } from "@switchyard/contracts/ids";
import { inputOf } from "@switchyard/contracts/agent-runner/content-parts";
import type { RunInput } from "@switchyard/contracts/agent-runner/runs";
import type { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { checkRunName, namedRun } from "../named-run.ts";
import { setting } from "../settings.ts";
import { readFiles, storeFiles, type ReadFile } from "../sent-files.ts";
import { textOrStandardInput } from "../standard-input.ts";
import { runIdOf } from "../run-id.ts";
import { limitsOf, type LimitOptions } from "../run-limits.ts";
import { publishRun, tailRun, type RunStart } from "../run-story.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { runToEnd, startAndWait, type Start } from "./run-to-end.ts";

export interface RunOptions extends LimitOptions {
  readonly json?: true;
  readonly wait: boolean;
  readonly inputJson?: true;
  /** Paths of files of the input. */
  readonly file?: readonly string[];
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  readonly skill?: string;
  readonly label: Readonly<Record<string, string>>;
  /** Key or id of the session, and what happens while a run of it is in progress. */
  readonly session?: string;
  readonly onBusy?: BusyPolicy;
  /** File for the models' answers. */
  readonly record?: string;
}

/** `yard run`: starts a run and prints its timeline until it ends. */
export async function run(
  terminal: Terminal,
  agent: string,
  input: string,
  options: RunOptions,
): Promise<ExitCode> {
  const chosen = options.model ?? setting("model", terminal.env).value;
  const command = commandOf(await textOrStandardInput(input), {
    ...options,
    ...(chosen === null ? {} : { model: chosen }),
  });
  if (!AgentName.safeParse(agent).success) {
    throw new CliError("usage", `${JSON.stringify(agent)} is not a valid agent name`, {
      hint: "see the agents with: ./yard agents list",
    });
  }
  const { record: file, json = false } = options;
  if (file !== undefined && !options.wait)
    throw new CliError("usage", "--record waits for the run's end and does not go with --no-wait");
  if (file !== undefined) await (await import("./run-recording.ts")).mayRecord(file);
  const files = await readFiles(options.file ?? []);
  return withBus(await findBus(terminal.env), async (bus) => {
    const start = { agent, command: await withFiles(bus, command, files), json };
    if (!options.wait) return startOnly(bus, terminal, start);
    const code = await startAndWait(bus, terminal, start);
    if (file !== undefined) {
      const { writeRecording } = await import("./run-recording.ts");
      await writeRecording(bus, terminal, { runId: command.runId, file });
    }
    return code;
  });
}

/** Builds the command. Its schema is checked where it is published; input that only a terminal can get wrong is checked here. */
export function commandOf(input: string, options: Omit<RunOptions, "wait">): RunStart["command"] {
  const { model, thinking, skill, label, session, onBusy } = options;
  const limits = limitsOf(options);
  const { file: files = [] } = options;
  if (input.trim() === "" && skill === undefined && files.length === 0)
    throw new CliError("usage", "the input is empty: the agent would have no task", {
      hint: 'such as: ./yard run demo "What is in this folder?"; - reads it from standard input',
    });
  if (options.inputJson === true && files.length > 0)
    throw new CliError("usage", "--file belongs to a text and does not go with --input-json");
  if (onBusy !== undefined && session === undefined)
    throw new CliError("usage", "--on-busy goes only with --session");
  return {
    input: options.inputJson === true ? parseObject(input) : input,
    runId: runIdOf(Date.now(), randomBytes(10)),
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(skill === undefined ? {} : { skill }),
    ...(session === undefined ? {} : { session }),
    ...(onBusy === undefined ? {} : { onBusy }),
    ...(Object.keys(label).length === 0 ? {} : { labels: label }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** The command with its files as parts of the input. They are stored first, since a command carries no bytes. */
async function withFiles(
  bus: Bus,
  command: RunStart["command"],
  files: readonly ReadFile[],
): Promise<RunStart["command"]> {
  if (typeof command.input !== "string" || files.length === 0) return command;
  return { ...command, input: inputOf(command.input, await storeFiles(bus, files)) };
}

async function startOnly(bus: Bus, terminal: Terminal, start: Start): Promise<ExitCode> {
  const stored = await publishRun(bus, start);
  // The whole id, which is right for other users of the command line, too.
  const runId = fullRunId(bus.user, start.command.runId);
  if (start.json) writeJson(terminal, { runId, sequence: stored.sequence });
  else terminal.out(runId);
  terminal.note(`queued; follow it with: ./yard runs tail ${runId}`);
  return EXIT.ok;
}

/** `yard runs tail`: prints the timeline of any run, as `yard run` does. */
export async function tail(
  terminal: Terminal,
  named: string,
  options: { json?: true; wait: number },
): Promise<ExitCode> {
  checkRunName(named);
  const json = options.json === true;
  const queueWait = { seconds: options.wait };
  return withBus(await findBus(terminal.env), async (bus) => {
    const runId = await namedRun(bus, named);
    return runToEnd(bus, { terminal, runId, json, timeoutMs: null, graceMs: 0 }, (followed) =>
      tailRun(bus, { runId, terminal, json, ...followed, queueWait, live: true }),
    );
  });
}

function parseObject(input: string): RunInput {
  let value: unknown;
  try {
    value = JSON.parse(input);
  } catch (error) {
    throw new CliError("usage", `--input-json: the input is not valid JSON: ${String(error)}`, {
      cause: error,
    });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return { ...value };
  }
  throw new CliError("usage", "--input-json: the input must be a JSON object", {
    hint: `such as '{"path":"README.md"}'`,
  });
}
