import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { discoverReplicas } from "@switchyard/bus/discovery";
import { publishCommand } from "@switchyard/bus/publish";
import { ensureStreams } from "@switchyard/bus/streams";
import { monitorRedisUser } from "@switchyard/topology/redis-access";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { SERVICE_NAMES } from "@switchyard/contracts/user-names";
import { replaceConstants } from "@switchyard/testing/test-constants";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { Host } from "@switchyard/service/host";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { readSeed, seedFile } from "../../apps/cli/src/nkey-seed.ts";
import { chosenServices } from "../../apps/switchyard/src/chosen-services.ts";

// Two replicas of all services, both in the process of this test, with the users and permissions of an installation.
const directory = await testDirectory();
const keys = await ensureKeys(join(directory, "keys"));
const nats = await testNats({ authorization: keys.authorization({ anonymous: true }) });
const redis = await testRedis({
  access: {
    acl: keys.redis.acl,
    probeUser: monitorRedisUser.name,
    probePassword: keys.redis.password(monitorRedisUser.name),
  },
});
const connect = (user: string) =>
  connectBus({ servers: nats.url, user, nkeySeed: () => readSeed(seedFile(keys.path, user)) });
const admin = await connect("admin");
await ensureStreams(admin);
await admin.close();
const cli = await connect("cli");
after(() => cli.close());

const project = fileURLToPath(new URL("project", import.meta.url));
const workspace = join(directory, "workspace");
await mkdir(workspace);
const callsFile = join(directory, "calls");
const services = await chosenServices("all");

function replica(instance: string) {
  const lines: Record<string, unknown>[] = [];
  const restore = replaceConstants({ instance });
  const host = new Host(services, {
    name: "switchyard",
    version: "0.1.0",
    env: {
      PATH: process.env["PATH"],
      TEST_NODE: process.execPath,
      YARD_HOME: fileURLToPath(new URL("../..", import.meta.url)),
      CALLS_FILE: callsFile,
      // The counting server writes to a file of this test.
      YARD_MCP_SANDBOX: "off",
      YARD_NATS_URL: nats.url,
      YARD_NATS_NKEY_FILE: seedFile(keys.path, "{user}"),
      YARD_REDIS_URL: redis.url.replace("redis://", "redis://{user}@"),
      YARD_KEYS_DIR: keys.path,
      YARD_POLICY_FILE: join(project, "policies"),
      YARD_SKILL_ROOTS: project,
      YARD_MCP_SERVERS_FILE: join(project, "mcp-servers.json"),
      YARD_STATE_DIR: join(directory, instance),
      YARD_WORKSPACE: workspace,
      YARD_DRAIN_MS: "10000",
    },
    begunAtMs: performance.now(),
    logTo: { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    onFault: ({ cause }) => assert.fail(String(cause)),
  });
  restore();
  after(() => host.stop());
  return { host, lines };
}

const started = async (agent: string, first: string): Promise<string> => {
  const runId = `order-${first}`;
  await publishCommand(cli, startRun, { agent }, { input: { first }, runId });
  return `cli~${runId}`;
};
const ended = (runId: string) =>
  until(
    async () => (await call(cli, getRun, { runId }).catch(() => null))?.run,
    (run) => run?.status === "succeeded",
  );

const replicas = [replica("one"), replica("two")] as const;

test("two replicas of all services work in one process, and runs survive the stop of one", async () => {
  const [one, two] = replicas;
  await Promise.all([one.host.start(), two.host.start()]);
  for (const name of SERVICE_NAMES)
    assert.equal((await discoverReplicas(cli, name)).length, 2, name);
  const runs = await Promise.all(["a", "b", "c", "d"].map((first) => started("counter", first)));
  await until(async () => (await readFile(callsFile, "utf8").catch(() => "")).includes("two"));
  assert.equal(await one.host.stop(), true);
  await Promise.all(runs.map(ended));
  const lines = (await readFile(callsFile, "utf8")).trim().split("\n");
  const counts = Object.groupBy(lines, (line) => line);
  for (const line of ["a", "b", "c", "d"]) assert.equal(counts[line]?.length, 1, line);
  for (const line of ["two", "three", "four", "five"])
    assert.equal(counts[line]?.length, 4, "each call was made once");
});

test("each replica stops in order, with nothing left in the log that is not expected", async () => {
  const [one, two] = replicas;
  assert.equal(await two.host.stop(), true);
  const bad = [...one.lines, ...two.lines].filter(({ level }) => level === "error");
  const expected = new Set(["missing", "exits"]);
  assert.deepEqual(
    bad.filter(({ server }) => !expected.has(String(server))),
    [],
  );
});
