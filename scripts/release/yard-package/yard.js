#!/usr/bin/env node
// Runs the command line on this Node.js where it is new enough, else on the one that was installed with the package.
import { spawn } from "node:child_process";
import module, { createRequire } from "node:module";
import { constants, homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const LEAST_NODE = 24;
const main = new URL("../apps/cli/src/main.js", import.meta.url);
process.env.NODE_COMPILE_CACHE ??= join(
  process.env.XDG_CACHE_HOME || join(homedir(), ".cache"),
  "switchyard/compiled",
);

if (Number(process.versions.node.split(".")[0]) >= LEAST_NODE) {
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  await import(main.href);
} else {
  const node = installedNode();
  if (node === null) {
    console.error(
      `yard needs Node.js ${LEAST_NODE} or later; this is ${process.versions.node}, and there is no package of it for ${process.platform}-${process.arch}: install Node.js ${LEAST_NODE}`,
    );
    process.exit(1);
  }
  const args = [fileURLToPath(main), ...process.argv.slice(2)];
  // The terminal's own signals reach both processes.
  const child = spawn(node, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
  child.on("error", (error) => {
    console.error(`yard cannot start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

function installedNode() {
  try {
    const name = `node-${process.platform}-${process.arch}/package.json`;
    return join(createRequire(import.meta.url).resolve(name), "../bin/node");
  } catch {
    return null;
  }
}
