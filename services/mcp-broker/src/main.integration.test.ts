import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import {
  connectServer,
  disconnectServer,
  listServers,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { legacyAnswer, switchableServer } from "../test-fixtures/switchable-server.ts";
import { fixtureServer, testWorld } from "../test-fixtures/test-broker.ts";
import { processIdentity } from "./process/process-identity.ts";

const world = await testWorld();
const repository = fileURLToPath(new URL("../../..", import.meta.url));

interface BrokerProcess {
  readonly process: ChildProcess;
  /** Log lines so far. */
  readonly lines: Record<string, unknown>[];
  readonly exited: Promise<unknown[]>;
}

async function startProcess(env: Record<string, string>): Promise<BrokerProcess> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("main.ts", import.meta.url))], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      YARD_NATS_URL: world.natsUrl,
      YARD_REDIS_URL: world.redisUrl,
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  after(() => child.kill("SIGKILL"));
  const lines: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line)));
  return { process: child, lines, exited: once(child, "exit") };
}

/** Starts a broker on its own state directory and server file, and waits until it is ready. */
async function startReady(
  servers: readonly object[],
  stateDir: string,
  env: Record<string, string> = {},
): Promise<BrokerProcess> {
  const file = join(await testDirectory(), "mcp-servers.json");
  await writeFile(file, JSON.stringify({ servers }));
  const broker = await startProcess({
    YARD_MCP_SERVERS_FILE: file,
    YARD_STATE_DIR: stateDir,
    // Its servers write to the test's own files.
    YARD_MCP_SANDBOX: "off",
    ...env,
  });
  await until(
    () => broker.lines.some(({ msg }) => msg === "service ready"),
    (isReady) => isReady,
  );
  return broker;
}

const callOf = (server: string, request: { tool: string; args: Record<string, unknown> }) =>
  call(world.cli, callTool, request, { tokens: { server } });

/** Numbers of a fixture server and of a process that it started. */
async function fork(server: string): Promise<number[]> {
  return (await callOf(server, { tool: "fork", args: {} })).text.split(" ").map(Number);
}

async function allGone(pids: readonly number[]): Promise<void> {
  await until(
    () => Promise.all(pids.map((pid) => processIdentity(pid))),
    (identities) => identities.every((identity) => identity === null),
  );
}

test("serves the example configuration [A29, A18, AR2]", async () => {
  const workspace = await testDirectory();
  await writeFile(join(workspace, "hello.txt"), "hello");
  const broker = await startProcess({
    YARD_MCP_SERVERS_FILE: join(repository, "examples", "mcp-servers.json"),
    YARD_STATE_DIR: workspace,
    YARD_HOME: repository,
    YARD_WORKSPACE: workspace,
  });
  await until(
    () => broker.lines.some(({ msg }) => msg === "service ready"),
    (isReady) => isReady,
  );
  const { servers } = await until(
    () => call(world.cli, listServers, {}),
    (reply) => reply.servers.every(({ status }) => status === "connected"),
  );
  assert.deepEqual(
    servers.map(({ id }) => id),
    ["files", "everything"],
  );
  assert.equal(
    (await callOf("files", { tool: "read_text_file", args: { path: "hello.txt" } })).text,
    "hello",
  );
  broker.process.kill("SIGTERM");
  assert.deepEqual(await broker.exited, [0, null]);
});

test("at SIGTERM a call in work ends, then the servers and all their processes [A20, A23]", async () => {
  const directory = await testDirectory();
  const broker = await startReady([fixtureServer("stops", ["fixture-server.ts"])], directory);
  const pids = await fork("stops");
  const [begun, release] = [join(directory, "begun"), join(directory, "release")];
  const inWork = callOf("stops", { tool: "wait", args: { file: begun, until: release } });
  await until(
    () => readFile(begun, "utf8").catch(() => ""),
    (text) => text !== "",
  );
  broker.process.kill("SIGTERM");
  // The broker accepts no new calls: its subject has no subscriber, and callers get that error at once.
  await until(
    () =>
      callOf("stops", { tool: "echo", args: { message: "" } }).then(
        () => "answered",
        (error: Error & { code?: string }) => error.code ?? "",
      ),
    (code) => code === "no_responders",
  );
  await writeFile(release, "");
  assert.equal((await inWork).text, "done");
  assert.deepEqual(await broker.exited, [0, null]);
  await allGone(pids);
});

test("when the broker is killed, servers end with their pipe and the next broker ends the rest [A23]", async () => {
  const stateDir = await testDirectory();
  const servers = [
    fixtureServer("polite", ["fixture-server.ts"]),
    fixtureServer("deaf", ["hostile-server.ts", "deaf"]),
  ];
  const first = await startReady(servers, stateDir);
  const [polite = 0, grandchild = 0] = await fork("polite");
  first.process.kill("SIGKILL");
  await first.exited;
  await allGone([polite]);
  assert.notEqual(await processIdentity(grandchild), null);

  const second = await startReady(servers, stateDir);
  const reaped = second.lines.filter(({ msg }) => msg === "leftover mcp server process ended");
  assert.deepEqual(reaped.map(({ server }) => String(server)).toSorted(), ["deaf", "polite"]);
  await allGone([grandchild, ...reaped.map(({ pid }) => Number(pid))]);
  second.process.kill("SIGTERM");
  assert.deepEqual(await second.exited, [0, null]);
});

test("a server file that cannot be used ends the start with one line that names the remedy", async () => {
  const directory = await testDirectory();
  const file = join(directory, "mcp-servers.json");
  await writeFile(file, "{");
  const broker = await startProcess({ YARD_MCP_SERVERS_FILE: file, YARD_STATE_DIR: directory });
  assert.deepEqual(await broker.exited, [1, null]);
  const fatal = broker.lines.find(({ level }) => level === "fatal");
  assert.match(JSON.stringify(fatal), /mcp-servers.json: not valid JSON/);
});

test("200 connects and disconnects leave a broker's process with the descriptors and children it had, and bounded memory [A20, A35, A36]", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = legacyAnswer(server.asked);
  const broker = await startReady(
    [{ id: "remote", url: server.url }, fixtureServer("often", ["fixture-server.ts"])],
    await testDirectory(),
    {
      YARD_MCP_ALLOW_PRIVATE_HOSTS: "loopback",
      // A heap that may grow does grow; memory that is never released would not fit in this one.
      NODE_OPTIONS: "--max-old-space-size=112 --max-semi-space-size=4",
    },
  );
  const pid = broker.process.pid ?? 0;
  const again = async (id: string): Promise<void> => {
    await call(world.cli, disconnectServer, { server: id });
    const reply = await call(world.cli, connectServer, { server: id });
    assert.equal(reply.server.status, "connected", reply.server.lastError ?? "");
  };
  for (let n = 0; n < 30; n += 1) await again("remote");
  await again("often");
  const before = await resourcesOf(pid);
  for (let n = 0; n < 180; n += 1) await again("remote");
  for (let n = 0; n < 20; n += 1) await again("often");
  const later = await until(
    () => resourcesOf(pid),
    ({ descriptors, children }) =>
      descriptors <= before.descriptors + 4 && children === before.children,
  );
  assert.ok(
    later.memoryKib < before.memoryKib + 96 * 1024,
    `${before.memoryKib} KiB grew to ${later.memoryKib} KiB`,
  );
  broker.process.kill("SIGTERM");
  assert.deepEqual(await broker.exited, [0, null]);
});

async function resourcesOf(pid: number) {
  const [descriptors, children, status] = await Promise.all([
    readdir(`/proc/${pid}/fd`),
    readFile(`/proc/${pid}/task/${pid}/children`, "utf8"),
    readFile(`/proc/${pid}/status`, "utf8"),
  ]);
  return {
    descriptors: descriptors.length,
    children: children.split(" ").filter((child) => child !== "").length,
    memoryKib: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]),
  };
}
