import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { processIdentity } from "@switchyard/local-servers/process-identity";
import { until } from "@switchyard/local-servers/until";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import {
  instanceProcesses,
  survivors,
  yard,
  yardDev,
  yardEnvironment,
  yardStarted,
} from "../../test-fixtures/yard-process.ts";

const GONE_WITHIN_MS = 10_000;

/** An MCP server that neither answers nor ends, in a process group of its own. */
const STUBBORN = `
import { writeFileSync } from "node:fs";
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => {});
writeFileSync(process.argv[2], String(process.pid));
setInterval(() => {}, 1000);
`;

test("a second Ctrl-C kills whatever still lives: frozen services, what waits for them, and the broker's MCP servers", async () => {
  const directory = tempDirectory();
  const pidFile = join(directory, "stubborn.pid");
  const project = join(directory, "project");
  mkdirSync(project);
  writeFileSync(join(directory, "stubborn.mjs"), STUBBORN);
  writeFileSync(
    join(project, "policy.yaml"),
    "version: 1\nrules: [{ id: nothing, effect: deny }]\n",
  );
  const stubborn = { command: "node", args: [join(directory, "stubborn.mjs"), pidFile] };
  writeFileSync(
    join(project, "mcp-servers.json"),
    JSON.stringify({ mcpServers: { stubborn: { ...stubborn, connectTimeoutMs: 120_000 } } }),
  );
  const stateDir = join(directory, "state");
  // An isolated server has neither our files nor our process ids.
  const env = { ...yardEnvironment(stateDir), YARD_MCP_SANDBOX: "off" };
  const dev = yardDev(["--project", project, "--runners", "2", "--processes"], env);
  await dev.printed("runner-2 is ready");
  await dev.printed("runner-1 is ready");
  await dev.printed("broker is ready");
  // NATS, Redis, policy, importer, broker, toolbox, 2 runners, channels, the scheduler and the gateway: each is recorded as it starts.
  const processes = await until(
    () => instanceProcesses(stateDir),
    ({ length }) => length === 11,
  );
  const server = await identified(
    "stubborn",
    Number(await until(() => readFile(pidFile, "utf8").catch(() => ""))),
  );
  assert.deepEqual(await survivors([server]), ["stubborn"]);

  for (const { name, pid } of processes)
    if (["runner-1", "broker"].includes(name)) process.kill(pid, "SIGSTOP");
  dev.kill("SIGINT");
  // The last part in order is gone, so that the stop now waits for the frozen one before it.
  await dev.printed("runner-2 stopped");
  const alive = await survivors([...processes, server]);
  assert.ok(alive.includes("runner-1") && alive.includes("policy"), alive.join(", "));
  dev.kill("SIGINT");
  assert.equal(await dev.exited, 130);
  await gone([...processes, server]);
});

test("a second Ctrl-C in the middle of a start leaves nothing behind", async () => {
  const stateDir = join(tempDirectory(), "state");
  const dev = yardDev([], yardEnvironment(stateDir));
  await dev.printed("Redis 7");
  const servers = instanceProcesses(stateDir);
  for (const { pid } of servers) process.kill(pid, "SIGSTOP");
  dev.kill("SIGINT");
  await dev.printed("a second Ctrl-C kills");
  dev.kill("SIGINT");
  assert.equal(await dev.exited, 130);
  await gone(servers);
});

test("while the policy service does not answer, a run that was started and the status report it", async () => {
  const stateDir = join(tempDirectory(), "state");
  const env = yardEnvironment(stateDir);
  const dev = yardDev(["--processes"], env);
  await dev.printed("Ctrl-C stops everything");
  const policy = instanceProcesses(stateDir).find(({ name }) => name === "policy");
  process.kill(policy?.pid ?? 0, "SIGSTOP");
  const started = yardStarted(["run", "demo", "hi"], env);
  await started.printed("… delayed");
  assert.match(started.output(), /delayed .*yard\.rpc\.runner\.policy\.grant/);
  const status = await yard(["status"], env);
  assert.equal(status.code, 6, status.stderr);
  assert.match(status.stdout, /^missing +no answer from policy: no run starts or continues/m);
  const runner = instanceProcesses(stateDir).find(({ name }) => name === "runner");
  const ready = await fetch(new URL("/readyz", runner?.healthUrl ?? ""));
  assert.match(await ready.text(), /"policy":"the policy service does not answer/);
  process.kill(policy?.pid ?? 0, "SIGCONT");
  assert.equal(await started.exited, 0, started.output());
});

async function identified(name: string, pid: number) {
  return { name, pid, identity: (await processIdentity(pid)) ?? "none" };
}

async function gone(processes: Parameters<typeof survivors>[0]): Promise<void> {
  const deadline = performance.now() + GONE_WITHIN_MS;
  for (;;) {
    const left = await survivors(processes);
    if (left.length === 0) return;
    if (performance.now() > deadline) assert.fail(`still there: ${left.join(", ")}`);
    await delay(20);
  }
}
