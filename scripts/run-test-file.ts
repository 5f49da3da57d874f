import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TestNote } from "./test-reporter.ts";

export interface FileResult {
  /** The file, or the package whose unit tests ran in one process. */
  readonly file: string;
  readonly passed: number;
  readonly durationMs: number;
  /** Processor time of its process and of all that this waited for; null when it was killed, or not on Linux. */
  readonly cpuSeconds: number | null;
  readonly skips: readonly TestOutcome[];
  /** Failed tests, and the file itself when its process died, failed on its own or was killed. */
  readonly failures: readonly TestOutcome[];
  /** It was killed at its limit. */
  readonly isKilled: boolean;
}

export interface TestOutcome {
  readonly test: string;
  /** The reason of a skip, or the failure. */
  readonly text: string;
}

export interface TestFileOptions {
  /** Working directory; `file` is relative to it. */
  readonly root: string;
  readonly nodeOptions: readonly string[];
  /** After this time the process and all of its group are killed, and the file has failed. */
  readonly limitMs: number;
  /** Kills it early. */
  readonly signal: AbortSignal;
}

const REPORTER = fileURLToPath(new URL("test-reporter.ts", import.meta.url));
const LAST_LINES = 40;
const PIPES_MS = 1_000;

/** Unit tests of one package, which share a process: most of the time of a test file is spent to load what it tests. */
export interface TestPackage {
  readonly name: string;
  readonly files: readonly string[];
}

/** Runs one test file, or those of a package, in a process group of its own, to the end of the process or its limit. */
export async function runTestFile(
  what: string | TestPackage,
  options: TestFileOptions,
): Promise<FileResult> {
  const file = typeof what === "string" ? what : what.name;
  const words =
    typeof what === "string" ? [file] : ["--test", "--test-isolation=none", ...what.files];
  const { root, nodeOptions, limitMs, signal } = options;
  const directory = mkdtempSync(join(tmpdir(), "yard-test-"));
  const notesFile = join(directory, "notes");
  writeFileSync(notesFile, "");
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [`--test-reporter=${REPORTER}`, "--test-reporter-destination=stdout", ...nodeOptions, ...words],
    {
      cwd: root,
      env: { ...process.env, TEST_NOTES: notesFile },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output = lastLines(output + text)));
  const kill = (): void => killGroup(child.pid);
  let isKilled = false;
  const timer = setTimeout(() => {
    isKilled = true;
    kill();
  }, limitMs);
  signal.addEventListener("abort", kill);
  const closed = once(child, "close");
  const [code, by] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null]; // as Node documents
  clearTimeout(timer);
  signal.removeEventListener("abort", kill);
  kill(); // whatever it left behind in its group
  // A process outside of the group may hold the pipes.
  await Promise.race([closed, delay(PIPES_MS, null, { ref: false })]);
  child.stdout.destroy();
  child.stderr.destroy();
  const result = readNotes(notesFile);
  rmSync(directory, { recursive: true, force: true });
  const failures = [...result.failures];
  if (isKilled) failures.push({ test: file, text: hung(limitMs, result, output) });
  else if (code !== 0 && failures.length === 0)
    failures.push({ test: file, text: `ended with ${by ?? `code ${code}`}\n${output}`.trim() });
  const { passed, skips, cpuSeconds } = result;
  const durationMs = performance.now() - began;
  return { file, passed, skips, failures, isKilled, cpuSeconds, durationMs };
}

function hung(limitMs: number, notes: ReturnType<typeof readNotes>, output: string): string {
  const { running, passed, failures } = notes;
  const what =
    running.length > 0
      ? `in: ${running.join("; ")}`
      : passed + failures.length > 0
        ? "after its last test: something keeps its process alive"
        : "before any test ended: something blocks its process";
  return `killed after ${limitMs / 1_000} s, ${what}\n${output}`.trim();
}

function readNotes(file: string) {
  const running = new Set<string>();
  const [skips, failures]: [TestOutcome[], TestOutcome[]] = [[], []];
  let passed = 0;
  let cpuSeconds: number | null = null;
  // The last line of a killed process may be cut.
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  for (const note of lines.map((line) => JSON.parse(line) as TestNote)) {
    if (note.at === "begun") running.add(note.test);
    else if (note.at === "ended") running.delete(note.test);
    else if (note.at === "passed") passed += 1;
    else if (note.at === "exit") cpuSeconds = note.cpuSeconds;
    else if (note.at === "skipped") skips.push(note);
    else failures.push(note);
  }
  return { running: [...running], skips, failures, passed, cpuSeconds };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // process.kill throws no other
  }
}

function lastLines(text: string): string {
  return text.split("\n").slice(-LAST_LINES).join("\n");
}
