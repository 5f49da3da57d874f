import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Runs the unit tests (`*.test.ts`) or the integration tests (`*.integration.test.ts`) of the whole
 * repository, or only those whose path contains one of the further arguments.
 *
 *   node scripts/run-tests.ts unit|integration [path part …] [-- node options …]
 */
const [kind, ...rest] = process.argv.slice(2);
if (kind !== "unit" && kind !== "integration") {
  console.error(
    "usage: node scripts/run-tests.ts unit|integration [path part …] [-- node options …]",
  );
  process.exit(2);
}

const root = fileURLToPath(new URL("..", import.meta.url));
const split = rest.indexOf("--");
const parts = split === -1 ? rest : rest.slice(0, split);
const nodeOptions = split === -1 ? [] : rest.slice(split + 1);

const files = globSync("{libs,services,apps,test,bench,scripts,deploy}/**/*.test.ts", {
  cwd: root,
  exclude: (name) => name === "node_modules" || name === ".yard",
})
  .filter((file) => file.endsWith(".integration.test.ts") === (kind === "integration"))
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  .toSorted();

if (files.length === 0) {
  console.error(`no ${kind} test matches ${parts.join(", ")}`);
  process.exit(2);
}

// Integration tests start servers of their own; more files at once than cores would only make them wait.
const concurrency = Math.max(1, Math.min(availableParallelism(), 4));
/** More than this is no coincidence. */
const MOST_SECOND_LOOKS = 3;

const notes = mkdtempSync(join(tmpdir(), "yard-tests-"));
const failedFiles = join(notes, "failed");
const firstTotals = join(notes, "totals");
process.exitCode = await runFiles(files, concurrency);
const failed = readLines(failedFiles);
const [counts = ""] = readLines(firstTotals);
// Real processes and clocks: a test may fail by coincidence. It is named, and looked at once more by itself.
if (kind === "integration" && process.exitCode === 1 && parts.length === 0) await lookAgain();
rmSync(notes, { recursive: true, force: true });

async function lookAgain(): Promise<void> {
  if (failed.length === 0 || failed.length > MOST_SECOND_LOOKS) return;
  console.log(`\nOnce more, one by one: ${failed.join(", ")}`);
  process.exitCode = await runFiles(failed, 1);
  if (process.exitCode !== 0) return;
  console.log(`\nFlaky, to be mended: ${failed.join(", ")} failed first and passed by itself.`);
  const { passed, failed: mended, skipped } = JSON.parse(counts) as Record<string, number>; // the reporter's
  console.log(`${(passed ?? 0) + (mended ?? 0)} passed, 0 failed, ${skipped ?? 0} skipped`);
}

async function runFiles(paths: readonly string[], atOnce: number): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      "--test",
      "--test-reporter=./scripts/test-reporter.ts",
      "--test-reporter-destination=stdout",
      `--test-concurrency=${atOnce}`,
      // Nothing here takes minutes: a test that waits for ever is a failed one.
      "--test-timeout=180000",
      ...nodeOptions,
      ...paths,
    ],
    { cwd: root, stdio: "inherit", env: { ...process.env, TEST_NOTES: notes } },
  );
  let interrupted = false;
  const pass = (signal: NodeJS.Signals): void => {
    interrupted = true;
    child.kill(signal);
  };
  process.on("SIGINT", pass).on("SIGTERM", pass);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null]; // as Node documents
  process.off("SIGINT", pass).off("SIGTERM", pass);
  // A process that was ended has not run its tests, and is not looked at again.
  return interrupted || signal !== null ? 130 : (code ?? 1);
}

function readLines(path: string): string[] {
  if (!existsSync(path)) return [];
  return [...new Set(readFileSync(path, "utf8").split("\n"))].filter((line) => line !== "");
}
