import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readReports, type FileReport, type TestOutcome } from "./file-reports.ts";

export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly durationMs: number;
  /** Processor time of its tests and of all processes that these waited for; null when it was killed, or not on Linux. */
  readonly cpuSeconds: number | null;
  readonly skips: readonly TestOutcome[];
  /** Failed tests, and the file itself when its process died, failed on its own or was killed. */
  readonly failures: readonly TestOutcome[];
  /** It was killed at its limit. */
  readonly isKilled: boolean;
}

export interface TestFilesOptions {
  /** Working directory; the files are relative to it. */
  readonly root: string;
  readonly nodeOptions: readonly string[];
  /** When no test began or ended for this time, the process and all of its group are killed, and the file has failed. */
  readonly limitMs: number;
  /** Kills it early. */
  readonly signal: AbortSignal;
}

const REPORTER = fileURLToPath(new URL("test-reporter.ts", import.meta.url));
const GROUP = fileURLToPath(new URL("test-group.ts", import.meta.url));
const LAST_LINES = 40;
const PIPES_MS = 1_000;
const CHECKS_PER_LIMIT = 20;

/**
 * Runs test files one after the other in one process, because much of the time of a test file is spent to load what it tests. When a file ends the
 * process, the files after it run in another one.
 */
export async function runTestFiles(
  files: readonly string[],
  options: TestFilesOptions,
): Promise<FileResult[]> {
  const ended = await runProcess(files, options);
  const rest = files.slice(ended.length);
  if (rest.length === 0 || options.signal.aborted) return ended;
  return [...ended, ...(await runTestFiles(rest, options))];
}

/** Runs a process in a group of its own to its end or its limit. Returns the results of the files that began. */
async function runProcess(
  files: readonly string[],
  { root, nodeOptions, limitMs, signal }: TestFilesOptions,
): Promise<FileResult[]> {
  const words = files.length === 1 ? files : [GROUP, ...files];
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
  let notesBytes = 0;
  let notedAt = began;
  const timer = setInterval(() => {
    const { size } = statSync(notesFile);
    if (size !== notesBytes) notedAt = performance.now();
    notesBytes = size;
    if (performance.now() - notedAt < limitMs) return;
    isKilled = true;
    kill();
  }, limitMs / CHECKS_PER_LIMIT);
  signal.addEventListener("abort", kill);
  const closed = once(child, "close");
  const [code, by] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null]; // as Node documents
  clearInterval(timer);
  signal.removeEventListener("abort", kill);
  kill(); // whatever it left behind in its group
  // A process outside of the group may hold the pipes.
  await Promise.race([closed, delay(PIPES_MS, null, { ref: false })]);
  child.stdout.destroy();
  child.stderr.destroy();
  const { before, last } = readReports(notesFile, files.length);
  rmSync(directory, { recursive: true, force: true });
  const reports = [...before, last];
  // When all files have ended, it may be any of them that left something behind.
  const isCut = files.length > 1 && last.durationMs === null;
  const isFaulty = isCut || (code !== 0 && reports.every(({ failures }) => failures.length === 0));
  const fault = isKilled
    ? `killed after ${limitMs / 1_000} s, ${whereItHung(last)}`
    : `ended with ${by ?? `code ${code}`}`;
  if (isKilled || isFaulty)
    last.failures.push({ test: files[before.length] ?? "", text: `${fault}\n${output}`.trim() });
  last.durationMs ??= performance.now() - began - durationMsOf(before);
  return reports.map((report, index) => ({
    file: files[index] ?? "",
    passed: report.passed,
    durationMs: report.durationMs ?? 0,
    cpuSeconds: report.cpuSeconds,
    skips: report.skips,
    failures: report.failures,
    isKilled: isKilled && report === last,
  }));
}

function whereItHung({ running, passed, failures }: FileReport): string {
  if (running.size > 0) return `in: ${[...running].join("; ")}`;
  return passed + failures.length > 0
    ? "after its last test: something keeps its process alive"
    : "before any test ended: something blocks its process";
}

function durationMsOf(reports: readonly FileReport[]): number {
  return reports.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
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
