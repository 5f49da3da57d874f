import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { testDirectory } from "@switchyard/testing/test-servers";
import { fixtureServer, packageFile, testWorld } from "../test-fixtures/test-broker.ts";

const [world, directory] = await Promise.all([testWorld(), testDirectory()]);
const YARD = fileURLToPath(new URL("../../../apps/cli/src/main.ts", import.meta.url));
const EVERYTHING = packageFile("@modelcontextprotocol/server-everything/dist/index.js");
const FILES = packageFile("@modelcontextprotocol/server-filesystem/dist/index.js");
await writeFile(join(directory, "hello.txt"), "hello from a file");
const broker = await world.startBroker({
  servers: [fixtureServer("fixture", ["fixture-server.ts"])],
});
await broker.until("fixture", ({ status }) => status === "connected");

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process of the command, as a person or a script runs it. */
async function yard(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [YARD, "mcp", ...args], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      HOME: directory,
      YARD_STATE_DIR: directory,
      YARD_NATS_URL: world.natsUrl,
      NO_COLOR: "1",
    },
  });
  after(() => child.kill("SIGKILL"));
  child.stdin.end();
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code: Number(code), stdout, stderr };
}

/** The stdout of a command that succeeded. */
async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await yard(...args);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout;
}

const isUp = (id: string) => broker.until(id, ({ status }) => status === "connected");

test("yard mcp add, add-json, list, get, tools and call work with real servers [A3, A32, A37, A38, A39, C1, C8, A60]", async () => {
  await Promise.all([
    done("add", "files", "--", process.execPath, FILES, directory),
    done(
      "add-json",
      "everything",
      JSON.stringify({ command: process.execPath, args: [EVERYTHING, "stdio"] }),
    ),
  ]);
  await Promise.all([isUp("files"), isUp("everything")]);
  const [list, get, tools, read] = await Promise.all([
    done("list"),
    done("get", "files"),
    done("tools", "files"),
    done("call", "files", "read_text_file", JSON.stringify({ path: join(directory, "hello.txt") })),
  ]);
  for (const id of ["fixture", "files", "everything"])
    assert.match(list, new RegExp(`^${id} +connected`, "m"));
  assert.match(get, /server-filesystem/);
  assert.match(tools, /read_text_file/);
  assert.match(read, /hello from a file/);
});

test("yard mcp resources, prompts and pins show what a real server has", async () => {
  const [resources, prompts, pins] = await Promise.all([
    done("resources", "list", "everything"),
    done("prompts", "list", "everything"),
    done("pins", "list", "everything"),
  ]);
  assert.match(resources, /demo:\/\/resource/);
  assert.match(prompts, /simple-prompt/);
  assert.match(pins, /approved/);
});

test("yard mcp logs shows the stderr of the child", async () => {
  assert.match(await done("logs", "files"), /Filesystem/i);
});

test("yard mcp check exits 0, and non-zero as soon as any enabled server is not connected", async () => {
  assert.match(await done("check"), /^fixture: connected/m);
  await done("disconnect", "files");
  const down = await yard("check");
  assert.equal(down.code, 1);
  assert.match(down.stdout, /^files: disconnected/m);
  assert.equal((await yard("check", "fixture")).code, 0);
  // A disabled server does not count as one that should be connected.
  await done("disable", "files");
  assert.match(await done("check"), /^files: disabled/m);
});

test("yard mcp enable, connect, update, disconnect and remove change a server and print the outcome [A33, A34, A35, A36, C8, CR8, E1]", async () => {
  await done("enable", "files");
  await isUp("files");
  const before = broker.info("files").connectedAt;
  await done("connect", "files");
  await broker.until("files", (info) => info.status === "connected" && info.connectedAt !== before);
  await done("update", "files", '{"name":"Files of this test"}');
  await isUp("files");
  const updated = await done("get", "files");
  assert.match(updated, /Files of this test/);
  assert.match(updated, /server-filesystem/, "what the update does not name stays");
  assert.match(
    (await yard("update", "absent", '{"name":"x"}')).stderr,
    /MCP server not found: absent/,
  );
  const invalid = await yard("update", "files", '{"command":null}');
  assert.notEqual(invalid.code, 0);
  assert.match(invalid.stderr, /must specify at least 'command' \(stdio\) or 'url' \(http\)/);
  await done("disconnect", "files");
  assert.equal(broker.info("files").status, "disconnected");
  await done("remove", "files");
  const { code, stderr } = await yard("get", "files");
  assert.notEqual(code, 0);
  assert.match(stderr, /MCP server not found: files/);
  assert.doesNotMatch(await done("list"), /^files /m);
});

test("yard mcp login and logout report that a server without logins has none", async () => {
  const [login, logout] = await Promise.all([yard("login", "fixture"), yard("logout", "fixture")]);
  assert.notEqual(login.code, 0);
  assert.match(login.stderr, /fixture/);
  assert.equal(logout.code, 0);
  assert.match(`${logout.stdout}${logout.stderr}`, /fixture/);
  await isUp("fixture");
});
