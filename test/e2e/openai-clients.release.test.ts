import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startProtocolsWorld } from "../lib/protocols-world.ts";

const run = promisify(execFile);
const directoryOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const work = await mkdtemp(join(tmpdir(), "yard-clients-"));
after(() => rm(work, { recursive: true, force: true }));

/** The command of a client, built, or the reason why it cannot be built here. */
type Built =
  | { readonly command: string; readonly args: readonly string[] }
  | { readonly skip: string };

const BUILD_MS = 300_000;
const [go, java] = await Promise.all([
  buildGo().catch((error: unknown) => missing("Go's client", error)),
  buildJava().catch((error: unknown) => missing("Java's client", error)),
]);
const world = "skip" in go && "skip" in java ? null : await startProtocolsWorld();

for (const [language, built] of Object.entries({ Go: go, Java: java }))
  test(
    `OpenAI's client for ${language} gets answers, streams, a form and responses`,
    { skip: "skip" in built ? built.skip : false },
    async () => {
      const { url, token } = world ?? assert.fail();
      if ("skip" in built) return;
      const env = { ...process.env, BASE: url, TOKEN: token };
      const { stdout } = await run(built.command, built.args, { env, timeout: 60_000 });
      assert.match(stdout, /^ok/m);
    },
  );

async function buildGo(): Promise<Built> {
  const program = join(work, "go-client");
  const options = { cwd: directoryOf("go-client"), timeout: BUILD_MS };
  await run("go", ["build", "-o", program, "."], options);
  return { command: program, args: [] };
}

/** The program is one file, which a JDK compiles when it starts it. */
async function buildJava(): Promise<Built> {
  const [classPath, options] = [join(work, "class-path"), { timeout: BUILD_MS }];
  const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
  const pom = join(directoryOf("java-client"), "pom.xml");
  await run("mvn", ["-q", "-B", "-f", pom, plugin, `-Dmdep.outputFile=${classPath}`], options);
  const source = join(directoryOf("java-client"), "Client.java");
  const args = ["-cp", await readFile(classPath, "utf8"), source];
  return { command: "java", args };
}

function missing(what: string, error: unknown): Built {
  return { skip: `${what} could not be built: ${String(error).slice(0, 300)}` };
}
