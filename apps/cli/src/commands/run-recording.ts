import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { access, constants, readFile, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { RunId } from "@switchyard/contracts/ids";
import { getRecording, RecordedRun } from "@switchyard/contracts/agent-runner/run-recordings";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import type { ExitCode } from "../exit-codes.ts";
import { namedRun } from "../named-run.ts";
import { count } from "../quantities.ts";
import { runIdOf } from "../run-id.ts";
import type { Terminal } from "../terminal.ts";
import { startAndWait } from "./run-to-end.ts";

/** Rejects when a recording could not be written there: a run is paid before there is one. */
export async function mayRecord(file: string): Promise<void> {
  try {
    await access(dirname(file), constants.W_OK);
    const there = await stat(file).catch(() => null);
    if (there?.isDirectory() === true) throw new TypeError("it is a directory");
    if (there !== null) await access(file, constants.W_OK);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError("usage", `--record ${file} cannot be written: ${why}`, { cause });
  }
}

/** Writes what the models of a run answered to a file, for `yard runs replay`. */
export async function writeRecording(
  bus: Bus,
  terminal: Terminal,
  { runId, file }: { readonly runId: string; readonly file: string },
): Promise<void> {
  const { run } = await client(bus, { getRecording }).getRecording({ runId });
  await writeFile(file, `${JSON.stringify(run, null, 2)}\n`, { mode: 0o600 });
  const answers = count(run.recording.answers.length, "answer");
  terminal.note(`recorded ${answers} in ${file}; play it with: ./yard runs replay ${file}`);
}

/**
 * `yard runs replay`: starts the agent again with the same input, and the models' answers from a
 * recording. Tools are called for real; a question that is not the recorded one ends the run.
 */
export async function replay(
  terminal: Terminal,
  source: string,
  options: { readonly json?: true },
): Promise<ExitCode> {
  const isRun = RunId.safeParse(source).success && !existsSync(source);
  const recorded = isRun ? null : await readRecording(source);
  return withBus(await findBus(terminal.env), async (bus) => {
    const ofRun = async () =>
      client(bus, { getRecording }).getRecording({ runId: await namedRun(bus, source) });
    const run = recorded ?? (await ofRun()).run;
    const { agent, input, skill, output, recording } = run;
    const command = {
      input,
      runId: runIdOf(Date.now(), randomBytes(10)),
      ...(skill === undefined ? {} : { skill }),
      ...(output === undefined ? {} : { output }),
      replay: recording,
      labels: { "replay-of": run.runId },
    };
    terminal.note(
      `the models' answers of run ${run.runId} (${run.model}); tools are called for real`,
    );
    return startAndWait(bus, terminal, { agent, command, json: options.json ?? false });
  });
}

async function readRecording(file: string): Promise<RecordedRun> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new CliError("usage", `${file} is neither the id of a run nor a file that can be read`, {
      hint: "record a run with: ./yard run AGENT INPUT --record FILE",
      cause,
    });
  }
  try {
    return RecordedRun.parse(JSON.parse(text));
  } catch (cause) {
    throw new CliError("usage", `${file} is not a recording of a run`, {
      hint: "record a run with: ./yard run AGENT INPUT --record FILE",
      cause,
    });
  }
}
