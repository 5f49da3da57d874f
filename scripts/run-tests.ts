import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
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
const child = spawn(
  process.execPath,
  [
    "--test",
    "--test-reporter=./scripts/test-reporter.ts",
    "--test-reporter-destination=stdout",
    `--test-concurrency=${concurrency}`,
    // Nothing here takes minutes: a test that waits for ever is a failed one.
    "--test-timeout=180000",
    ...nodeOptions,
    ...files,
  ],
  { cwd: root, stdio: "inherit" },
);
let interrupted = false;
child.on("exit", (code, signal) => {
  process.exitCode = interrupted || signal !== null ? 1 : (code ?? 1);
});
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    interrupted = true;
    child.kill(signal);
  });
}
