import { randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { AgentName, fullRunId } from "@switchyard/contracts/ids";
import { inputOf } from "@switchyard/contracts/agent-runner/content-parts";
import type { RunInput } from "@switchyard/contracts/agent-runner/runs";
import type { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { findBus, withBus } from "../bus-session.ts";
import { Decider } from "../chat/decide.ts";
import { terminalPerson } from "../chat/terminal-person.ts";
import { CliError, hintOf, reportFailure } from "../cli-error.ts";
import { EXIT, exitCodeOf, type ExitCode } from "../exit-codes.ts";
import type { RunEnd } from "../follow-run.ts";
import { checkRunName, namedRun } from "../named-run.ts";
import { printable } from "../printable.ts";
import { setting } from "../settings.ts";
import { readFiles, storeFiles, type ReadFile } from "../sent-files.ts";
import { textOrStandardInput } from "../standard-input.ts";
import { runIdOf } from "../run-id.ts";
import { limitsOf, type LimitOptions } from "../run-limits.ts";
import { publishRun, startAndFollow, tailRun, type RunStart } from "../run-story.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";

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

/** Extra time for a run that has begun to publish that it reached its time limit. */
const GRACE_MS = 1_000;

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

interface Start extends RunStart {
  readonly json: boolean;
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

/** Starts a run and prints its timeline until it ends, the person stops following it, or its time is over. */
export function startAndWait(bus: Bus, terminal: Terminal, start: Start): Promise<ExitCode> {
  const { runId, limits } = start.command;
  const { json } = start;
  const timeoutMs = limits?.timeoutMs ?? null;
  return toItsEnd(bus, { terminal, runId, json, timeoutMs, graceMs: GRACE_MS }, (followed) =>
    startAndFollow(bus, { ...start, ...followed, terminal, live: true }),
  );
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
    return toItsEnd(bus, { terminal, runId, json, timeoutMs: null, graceMs: 0 }, (followed) =>
      tailRun(bus, { runId, terminal, json, ...followed, queueWait, live: true }),
    );
  });
}

/**
 * Follows a run to its end and shows it, with its prompts to the person, unless the person stops following or the time is over. A
 * run that has begun gets the grace on top of the time, because its own last event may be in flight.
 */
export async function toItsEnd(
  bus: Bus,
  about: {
    terminal: Terminal;
    runId: string;
    json: boolean;
    timeoutMs: number | null;
    graceMs: number;
  },
  follow: (followed: {
    signal: AbortSignal;
    onEvent: (event: StoredEvent) => void;
  }) => Promise<RunEnd | null>,
): Promise<ExitCode> {
  const { terminal, runId, json, timeoutMs, graceMs } = about;
  return untilStopped(async (stop) => {
    let hasBegun = false;
    // A person is prompted for waits here; without a terminal the command to decide with is printed.
    const { note: print, paintNote: paint } = terminal;
    const decider = json
      ? null
      : new Decider(bus, { runId, person: terminalPerson(), print, paint, arePrinted: true });
    const onEvent = (event: StoredEvent): void => {
      hasBegun = true;
      decider?.onEvent(event);
    };
    const giveUp = (): void => stop.stop("timeout");
    const atLimit = (): void => {
      if (!hasBegun) giveUp();
      else timer = setTimeout(giveUp, graceMs);
    };
    let timer = timeoutMs === null ? undefined : setTimeout(atLimit, timeoutMs);
    try {
      const end = await follow({ signal: stop.signal, onEvent });
      if (end !== null) return conclude(terminal, end, json);
    } finally {
      clearTimeout(timer);
      decider?.close();
    }
    const what =
      stop.reason === "timeout" && !hasBegun
        ? "still queued: no runner took the run yet; it begins when one does"
        : "the run continues";
    if (stop.reason !== "closed")
      terminal.note(`no longer following; ${what}. See it with: ./yard runs show ${runId}`);
    return stop.reason === "timeout" && (decider?.pending ?? 0) > 0
      ? EXIT.pending
      : exitOfStop(stop.reason);
  });
}

/** Shows the end of a run: the answer on stdout, a failure on stderr. */
export function conclude(terminal: Terminal, end: RunEnd, json: boolean): ExitCode {
  if (end.end === "finished") {
    if (!json) terminal.out(printable(end.output));
    return EXIT.ok;
  }
  const { code, message } = end;
  const hint = hintOf({ code });
  reportFailure(
    terminal,
    new CliError(code, `${WHAT_HAPPENED[end.end]}: ${message}`, hint === null ? {} : { hint }),
    json,
  );
  // A failed tool or policy is part of a failed run here, not the reason this command failed.
  const exitCode = exitCodeOf(code);
  return exitCode === EXIT.notFound ? exitCode : EXIT.failed;
}

const WHAT_HAPPENED = {
  failed: "the run failed",
  cancelled: "the run was cancelled",
  rejected: "the command was refused",
} as const;

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
