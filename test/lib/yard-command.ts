import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));

/** Runs one `yard` command against a running instance and returns what `--json` wrote. Rejects when it fails. */
export async function yardCommand(stateDir: string, ...args: string[]): Promise<unknown> {
  const child = spawn(process.execPath, [main, ...args, "--json"], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      HOME: process.env["HOME"],
      YARD_STATE_DIR: stateDir,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  await once(child, "close");
  if (child.exitCode !== 0)
    throw new Error(`yard ${args.join(" ")} ended with ${child.exitCode}: ${errors}`);
  return (JSON.parse(out) as { data: unknown }).data; // the envelope of every command
}
