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
/** The longest that a process takes to end when all its files have ended. */
const CLOSING_MS = 60_000;
const LAST_LINES = 40;
const PIPES_MS = 1_000;
const CHECKS_PER_LIMIT = 20;

/**
 * Runs test files one after the other in one process, because much of the time of a test file is spent to load what it tests. When a file fails or ends
 * the process, the files after it run in another one: what a failed test did not close would disturb them, or keep their process alive.
 */
export async function runTestFiles(
  files: readonly string[],
  options: TestFilesOptions,
): Promise<FileResult[]> {
  const { reports, fault, isKilled, haveAllEnded } = await runProcess(files, options);
  const isUnclear = fault !== null && files.length > 1 && haveAllEnded;
  if (isUnclear && !options.signal.aborted) {
    // Any of them may have left something behind. By itself each is seen to.
    const results: FileResult[] = [];
    for (const file of files) results.push(...(await runTestFiles([file], options)));
    if (results.some(({ failures }) => failures.length > 0)) return results;
  }
  const results = reports.map((report, index) => resultOf(files[index] ?? "", report));
  const last = results.pop();
  if (last !== undefined && fault !== null) {
    const text = isUnclear ? `in one process with ${files.join(", ")}: ${fault}` : fault;
    const failures = [...last.failures, { test: last.file, text }];
    results.push({ ...last, failures, isKilled: isKilled && !isUnclear });
  } else if (last !== undefined) results.push(last);
  const rest = files.slice(results.length);
  if (rest.length === 0 || options.signal.aborted) return results;
  return [...results, ...(await runTestFiles(rest, options))];
}

interface ProcessEnd {
  /** One for each file that began. */
  readonly reports: readonly FileReport[];
  /** The reason why the process was killed, or the code with which it ended although no test failed. */
  readonly fault: string | null;
  readonly isKilled: boolean;
  readonly haveAllEnded: boolean;
}

/** Runs a process in a group of its own to its end or its limit. */
async function runProcess(
  files: readonly string[],
  { root, nodeOptions, limitMs, signal }: TestFilesOptions,
): Promise<ProcessEnd> {
  const directory = mkdtempSync(join(tmpdir(), "yard-test-"));
  const notesFile = join(directory, "notes");
  writeFileSync(notesFile, "");
  const began = performance.now();
  const reporter = [`--test-reporter=${REPORTER}`, "--test-reporter-destination=stdout"];
  const child = spawn(process.execPath, [...reporter, ...nodeOptions, GROUP, ...files], {
    cwd: root,
    env: { ...process.env, TEST_NOTES: notesFile },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
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
    const idleMs = performance.now() - notedAt;
    if (idleMs < Math.min(limitMs, CLOSING_MS)) return;
    if (idleMs < limitMs && !haveEnded(files, readReports(notesFile, files.length))) return;
    isKilled = true;
    kill();
  }, limitMs / CHECKS_PER_LIMIT);
  signal.addEventListener("abort", kill);
  const closed = once(child, "close");
  const [code, by] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null]; // as Node documents
  const endedAt = performance.now();
  clearInterval(timer);
  signal.removeEventListener("abort", kill);
  kill(); // whatever it left behind in its group
  // A process outside of the group may hold the pipes.
  await Promise.race([closed, delay(PIPES_MS, null, { ref: false })]);
  child.stdout.destroy();
  child.stderr.destroy();
  const reports = readReports(notesFile, files.length);
  rmSync(directory, { recursive: true, force: true });
  const last = reports.at(-1);
  if (last === undefined) throw new Error("no file began");
  const haveAllEnded = haveEnded(files, reports);
  const limit = haveAllEnded ? Math.min(limitMs, CLOSING_MS) : limitMs;
  const end = isKilled
    ? `killed after ${limit / 1_000} s, ${whereItHung(last)}`
    : `ended with ${by ?? `code ${code}`}`;
  const isFault = last.durationMs === null || (code !== 0 && last.failures.length === 0);
  last.durationMs ??= endedAt - began - durationMsOf(reports);
  const fault = isFault ? `${end}\n${output}`.trim() : null;
  return { reports, fault, isKilled, haveAllEnded };
}

/** True when all of the files have ended, whatever keeps their process alive. */
function haveEnded(files: readonly string[], reports: readonly FileReport[]): boolean {
  return reports.length === files.length && reports.at(-1)?.durationMs !== null;
}

function resultOf(
  file: string,
  { passed, durationMs, cpuSeconds, skips, failures }: FileReport,
): FileResult {
  const result = { file, passed, durationMs: durationMs ?? 0, cpuSeconds, skips, failures };
  return { ...result, isKilled: false };
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
