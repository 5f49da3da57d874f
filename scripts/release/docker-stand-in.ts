import { execFile } from "node:child_process";
import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Digests of two images. */
export const DIGESTS = ["1", "2"].map((digit) => `sha256:${digit.repeat(64)}`);

/** Replaces Docker, which has neither an engine nor a registry here: it records its arguments, and prints digests as buildx does. */
export async function dockerStandIn(folder: string, said: readonly string[]): Promise<string> {
  const bin = await mkdtemp(join(folder, "bin-"));
  // The path of this Node.js may have a space.
  const text = `#!/usr/bin/env node
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require("node:fs");
const log = ${JSON.stringify(join(bin, "asked"))};
const count = existsSync(log) ? readFileSync(log, "utf8").trim().split("\\n").length : 0;
const args = process.argv.slice(2);
appendFileSync(log, JSON.stringify(args) + "\\n");
const said = ${JSON.stringify(said)}[count];
if (said === undefined) { console.error("ERROR: failed to push: denied"); process.exit(1); }
const facts = args.find((arg) => arg.startsWith("--metadata-file="));
if (facts === undefined) console.log(said);
else writeFileSync(facts.slice("--metadata-file=".length), JSON.stringify({ "containerimage.digest": said }));
`;
  await writeFile(join(bin, "docker"), text);
  await chmod(join(bin, "docker"), 0o755);
  return bin;
}

/** Runs the release with that program in place of Docker, and returns its output. */
export async function release(bin: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
  const script = join(root, "scripts/release.ts");
  return (await promisify(execFile)(process.execPath, [script, ...args], { env })).stdout;
}
