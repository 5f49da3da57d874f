import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isGroupAlive } from "@switchyard/service/process/process-group";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { toolboxWorld } from "../test-fixtures/test-toolbox.ts";

const world = await toolboxWorld();
const [workspace, emptyPath] = [await testDirectory(), await testDirectory()];

interface ToolboxProcess {
  readonly child: ChildProcess;
  /** Log lines so far. */
  readonly lines: Record<string, unknown>[];
  readonly exited: Promise<unknown[]>;
}

function startProcess(env: Record<string, string>): ToolboxProcess {
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
  return { child, lines, exited: once(child, "exit") };
}

async function startReady(env: Record<string, string>): Promise<ToolboxProcess> {
  const toolbox = startProcess(env);
  await until(() => toolbox.lines.some(({ msg }) => msg === "service ready"));
  return toolbox;
}

const healthUrl = ({ lines }: ToolboxProcess): string =>
  String(lines.find(({ msg }) => msg === "service ready")?.["healthUrl"]);

test("a stopping toolbox ends its commands and answers their callers", async () => {
  const toolbox = await startReady({
    YARD_WORKSPACE: workspace,
    YARD_DRAIN_MS: "5000",
    YARD_SANDBOX: "off",
  });
  const ready = await fetch(`${healthUrl(toolbox)}/readyz`);
  assert.deepEqual(await ready.json(), {
    status: "ready",
    checks: { redis: "ok", bus: "ok", streams: "ok", policy: "ok" },
    details: { sandbox: "off" },
  });
  const args = { command: "echo $$ > pid; sleep 300", shell: true };
  const running = world.call({ tool: "execute_command", args });
  const pidFile = join(workspace, "pid");
  await until(async () => existsSync(pidFile) && (await readFile(pidFile, "utf8")) !== "");
  toolbox.child.kill("SIGTERM");
  assert.match((await running).text, /^Ended before it was done/);
  assert.deepEqual(await toolbox.exited, [0, null]);
  assert.equal(await isGroupAlive(Number(await readFile(pidFile, "utf8"))), false);
  assert.deepEqual(
    toolbox.lines.filter(({ level }) => level === "error" || level === "fatal"),
    [],
  );
});

test("does not start without a workspace, or without the sandbox that is required [E12]", async () => {
  const nowhere = startProcess({});
  assert.equal((await nowhere.exited)[0], 1);
  assert.match(
    reasonOf(nowhere),
    /^Workspace directory must be configured in limited-control mode$/,
  );
  const uncaged = startProcess({
    YARD_WORKSPACE: workspace,
    YARD_SANDBOX: "require",
    PATH: emptyPath,
  });
  assert.equal((await uncaged.exited)[0], 1);
  assert.match(reasonOf(uncaged), /^YARD_SANDBOX=require cannot be met: .*no bwrap/);
});

test("without a sandbox execute_command is not listed, no approval of it is requested, and the other tools work [E12]", async () => {
  const toolbox = await startReady({ YARD_WORKSPACE: workspace, PATH: emptyPath });
  assert.ok(toolbox.lines.some(({ msg }) => msg === "no sandbox, so no command can run"));
  const listed = await world.call({ tool: "list_files", args: {} });
  assert.equal(listed.isError, false);
  const { tools } = await world.tools();
  assert.ok(tools.some(({ name }) => name === "list_files"));
  assert.ok(!tools.some(({ name }) => name === "execute_command"));
  world.policy.answer = () => "ask";
  await assert.rejects(world.call({ tool: "execute_command", args: { command: "touch no" } }), {
    code: "tool_unavailable",
    message: /No command can run: .*YARD_SANDBOX to off/,
  });
  world.policy.answer = () => "deny";
  await assert.rejects(world.call({ tool: "execute_command", args: { command: "touch no" } }), {
    code: "denied",
  });
  world.policy.answer = () => "allow";
  assert.equal(existsSync(join(workspace, "no")), false);
  toolbox.child.kill("SIGTERM");
  await toolbox.exited;
});

test("a directory for each run wins over one for everybody, which in one process is that of MCP servers", async () => {
  const workspaces = await testDirectory();
  const toolbox = await startReady({
    YARD_WORKSPACE: workspace,
    YARD_WORKSPACES_DIR: workspaces,
    PATH: emptyPath,
  });
  const args = { path: "a.txt", content: "hi" };
  const { isError } = await world.call({ tool: "write_file", args });
  assert.equal(isError, false);
  assert.equal(await readFile(join(workspaces, "user-cli", "a.txt"), "utf8"), "hi");
  assert.equal(existsSync(join(workspace, "a.txt")), false);
  toolbox.child.kill("SIGTERM");
  await toolbox.exited;
});

function reasonOf({ lines }: ToolboxProcess): string {
  return String(lines.find(({ msg }) => msg === "service could not start")?.["reason"]);
}
