import { globSync, readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describeTestSource, testSource } from "@switchyard/testing/test-source";
import { isAllowedSkip, readAllowedSkips } from "./allowed-skips.ts";
import type { TestOutcome } from "./file-reports.ts";
import { runTestFiles, type FileResult } from "./run-test-files.ts";

/**
 * Runs the unit tests (`*.test.ts`), the integration tests (`*.integration.test.ts`) or the tests with programs of
 * others and older versions of our own (`*.release.test.ts`) of the whole repository, or only those whose path contains
 * one of the further arguments. Unit tests of a package share a process, and so do a few integration tests of a package or of a folder in test/.
 * A process in which no test begins or ends for YARD_TEST_LIMIT_SECONDS is killed with its group, and the others continue.
 *
 *   node scripts/run-tests.ts unit|integration|release [path part …] [-- node options …]
 */
const [kind, ...rest] = process.argv.slice(2);
if (kind !== "unit" && kind !== "integration" && kind !== "release") {
  console.error(
    "usage: node scripts/run-tests.ts unit|integration|release [path part …] [-- node options …]",
  );
  process.exit(2);
}

const root = process.env["YARD_TEST_ROOT"] ?? fileURLToPath(new URL("..", import.meta.url));
const split = rest.indexOf("--");
const parts = split === -1 ? rest : rest.slice(0, split);
const nodeOptions = split === -1 ? [] : rest.slice(split + 1);
/** Several times what the longest test takes on two busy cores. */
const limitMs = Number(process.env["YARD_TEST_LIMIT_SECONDS"] ?? 480) * 1_000;
const allowed = process.env["YARD_ALLOWED_SKIPS"];
const allowedSkips = allowed === undefined ? null : readAllowedSkips(readFileSync(allowed, "utf8"));
/** First the longest files, then those that start whole instances, which keep every core busy. The others mostly wait. */
const LONG = [
  "chat-kills",
  "mcp-servers.release",
  "clients.release",
  "packages.release",
  "test/chaos/",
  "test/console/",
  "cli/src/commands/dev.",
  "test/",
  "apps/",
];
const orderOf = (file: string): number => {
  const at = LONG.findIndex((part) => file.includes(part));
  return at === -1 ? LONG.length : at;
};

const files = globSync("{libs,services,apps,test,bench,scripts,deploy}/**/*.test.ts", {
  cwd: root,
  exclude: (name) => name === "node_modules" || name === ".yard",
})
  .filter((file) => (/\.(integration|release)\.test\.ts$/.exec(file)?.[1] ?? "unit") === kind)
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  .toSorted()
  .toSorted((a, b) => orderOf(a) - orderOf(b));

if (files.length === 0) {
  console.error(`no ${kind} test matches ${parts.join(", ")}`);
  process.exit(2);
}

/** So many files run whatever else the machine does. */
const FEWEST = Math.min(availableParallelism(), 4);
/** The most files at a time, however idle the machine is. */
const MOST = Math.min(4 * FEWEST, 12);
/** Integration tests wait for leases, timers and starts for much of their time: another file begins whenever this share of the processors was idle. */
const IDLE_SHARE = 0.3;
const IDLE_SAMPLE_MS = 500;
const MOST_COSTLY = 10;
/** The packages and folders whose integration tests load the same modules again and again. */
const SHARING = /^(libs|services|apps|test)\//;
/** So few that the last processes of a run end at about the same time. */
const MOST_IN_PROCESS = 8;
/** More than this is not a coincidence. */
const MOST_SECOND_LOOKS = 5;

// Test files and the services that they start compile the same code again and again.
process.env["NODE_COMPILE_CACHE"] ??= join(root, "node_modules", ".cache", "compiled");

const interrupt = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupt.abort());

if (kind !== "unit") await printServers();
const began = performance.now();
const results = await runFiles(groupsOf(files), kind === "unit" ? FEWEST : MOST);
print(
  "Skipped",
  results.flatMap(({ skips }) => skips).map(({ test, text }) => `${test}: ${text}`),
);
print("Failures", results.flatMap(({ failures }) => failures).map(describe));
// Real processes and clocks: a test may fail by coincidence. It is named, and looked at once more by itself.
const again = parts.length === 0 ? await lookAgain() : [];
const last = results.map((result) => again.find(({ file }) => file === result.file) ?? result);
const unlisted = last.flatMap(({ skips }) => skips).filter(isUnlisted);
print(
  `Skipped for a reason that is not in ${allowed}, which counts as failed`,
  unlisted.map(({ test, text }) => `${test}: ${text}`),
);
const count = (of: (result: FileResult) => number): number =>
  last.reduce((sum, result) => sum + of(result), 0);
const failed = count(({ failures }) => failures.length) + unlisted.length;
const skipped = count(({ skips }) => skips.length) - unlisted.length;
const ending = skipped === 0 ? "" : `, ${skipped} skipped`;
printProcessorTime();
// Once more at the end: of a long run often only the last lines are kept.
print(
  "Failed",
  [...last.flatMap(({ failures }) => failures), ...unlisted].map(({ test }) => test),
);
console.log(`\n(${((performance.now() - began) / 1_000).toFixed(1)} s)`);
console.log(`${count(({ passed }) => passed)} passed, ${failed} failed${ending}`);
process.exitCode = interrupt.signal.aborted ? 130 : failed > 0 ? 1 : 0;

/** Says where the tests take NATS and Redis from; what has to be fetched for it is fetched once, before they begin. */
async function printServers(): Promise<void> {
  for (const name of ["nats", "redis"] as const) {
    const from = await testSource(name).then(describeTestSource, (error: Error) => error.message);
    console.log(`${name}: ${from}`);
  }
}

async function lookAgain(): Promise<FileResult[]> {
  const failing = results.filter(({ failures }) => failures.length > 0);
  // One that was killed would only hang again.
  const flaky = failing.filter(({ isKilled }) => !isKilled).map(({ file }) => file);
  if (flaky.length === 0 || failing.length > MOST_SECOND_LOOKS || interrupt.signal.aborted)
    return [];
  console.log(`\nOnce more, one by one: ${flaky.join(", ")}`);
  const second = await runFiles(
    flaky.map((file) => [file]),
    1,
  );
  print("Failures", second.flatMap(({ failures }) => failures).map(describe));
  const passed = second.filter(({ failures }) => failures.length === 0).map(({ file }) => file);
  if (passed.length > 0)
    console.log(`\nFlaky, to be fixed: ${passed.join(", ")} failed first and passed by itself.`);
  return second;
}

/** The files that share a process: all unit tests of a package or of another folder at the root, and a few integration tests of a package or of a folder in test/. */
function groupsOf(paths: readonly string[]): string[][] {
  // The few unit tests in folders of test/ are together.
  const folder =
    kind === "unit"
      ? /^(?:libs|services|apps)\/[^/]+|^[^/]+/
      : /^(?:libs|services|apps|test)\/[^/]+|^[^/]+/;
  const packages = Map.groupBy(paths, (file) => folder.exec(file)?.[0] ?? "");
  return [...packages].flatMap(([name, inIt]) => {
    if (kind === "unit") return [inIt];
    const most = kind === "integration" && SHARING.test(name) ? MOST_IN_PROCESS : 1;
    return chunksOf(inIt, most);
  });
}

function chunksOf(paths: readonly string[], size: number): string[][] {
  const chunks = Math.ceil(paths.length / size);
  return Array.from({ length: chunks }, (_, at) => paths.slice(at * size, (at + 1) * size));
}

async function runFiles(
  groups: readonly (readonly string[])[],
  most: number,
): Promise<FileResult[]> {
  const waiting = [...groups];
  const running = new Set<Promise<void>>();
  const done: FileResult[] = [];
  const run = async (group: readonly string[]): Promise<void> => {
    const { signal } = interrupt;
    const ended = await runTestFiles(group, { root, nodeOptions, limitMs, signal });
    done.push(...ended);
    for (const result of ended) console.log(fileLine(result));
  };
  const start = (): void => {
    // In turn from both ends of the list, so that files that wait run beside files that work.
    const group = (groups.length - waiting.length) % 2 === 0 ? waiting.shift() : waiting.pop();
    if (group === undefined) return;
    const ended = run(group).finally(() => running.delete(ended));
    running.add(ended);
  };
  while (waiting.length > 0 && !interrupt.signal.aborted) {
    if (running.size < Math.min(FEWEST, most)) start();
    else if ((await idleShare()) >= IDLE_SHARE && running.size < most) start();
  }
  await Promise.all(running);
  const names = groups.flat();
  return done.toSorted((a, b) => names.indexOf(a.file) - names.indexOf(b.file));
}

/** Returns which share of the processors' time was idle during a moment. */
async function idleShare(): Promise<number> {
  const before = processorTimes();
  await delay(IDLE_SAMPLE_MS);
  const after = processorTimes();
  return (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

function processorTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (of: (typeof times)[number]): number => of.user + of.nice + of.sys + of.irq + of.idle;
  return {
    idle: times.reduce((total, { idle }) => total + idle, 0),
    all: times.reduce((total, each) => total + sum(each), 0),
  };
}

function fileLine(result: FileResult): string {
  const { file, passed, durationMs, failures, isKilled, cpuSeconds } = result;
  const mark = failures.length === 0 ? "✔" : "✖";
  const seconds = (durationMs / 1_000).toFixed(1).padStart(5);
  const cpu = (cpuSeconds?.toFixed(1) ?? "?").padStart(5);
  return `${mark} ${String(passed).padStart(4)} ${seconds} s  cpu ${cpu} s  ${file}${isKilled ? " (killed)" : ""}`;
}

/** Prints the most expensive files: two cores are busy all the time, so only less work makes a run shorter. */
function printProcessorTime(): void {
  const total = results.reduce((sum, { cpuSeconds }) => sum + (cpuSeconds ?? 0), 0);
  const costly = results.toSorted((a, b) => (b.cpuSeconds ?? 0) - (a.cpuSeconds ?? 0));
  print(
    `Processor time ${total.toFixed(0)} s, most of it`,
    costly
      .slice(0, MOST_COSTLY)
      .map(({ file, cpuSeconds }) => `${(cpuSeconds ?? 0).toFixed(1).padStart(6)} s  ${file}`),
  );
}

function isUnlisted({ text }: TestOutcome): boolean {
  return allowedSkips !== null && !isAllowedSkip(text, allowedSkips);
}

function describe({ test, text }: TestOutcome): string {
  return `${test}\n${text.replaceAll(/^/gm, "      ")}\n`;
}

function print(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title}:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}
