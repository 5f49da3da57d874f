import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { ensureStreams } from "@switchyard/bus/streams";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { SmallDisk } from "@switchyard/local-servers/small-disk";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { readSeed, seedFile } from "../../apps/cli/src/nkey-seed.ts";
import { startServiceProcess, type TestService } from "../lib/service-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";

// Fills a disk, so it needs one of its own: without the right to mount one the tests skip.
const disk = await SmallDisk.mount(await testDirectory());
const isFillable = typeof disk !== "string";
after(() => (isFillable ? disk.unmount() : undefined));

const RUNS = 4;
/** Each is decided, recorded and published: together far more than a full disk still accepts. */
const STEPS_AFTERWARDS = 8;
/** The promised time after NATS is back, and a margin for two busy cores. */
const BACK_WITHIN_MS = 10_000 + 10_000;

/** Its first call is in progress when the disk gets full; each later one needs a recorded decision. */
const AGENT = {
  description: "Makes calls.",
  model: "scripted/plan",
  plan: {
    steps: [
      { calls: [append("/input/first", { takesMs: 2_000 })] },
      ...Array.from({ length: STEPS_AFTERWARDS }, () => ({ calls: [append("/input/later")] })),
    ],
    answer: "done",
  },
};
const POLICY = `version: 1
rules: [{ id: all, effect: allow, approval: auto, what: { tools: ["book.*"] } }]
`;

test(
  "a full disk of NATS suspends runs and ends none, readiness reports it, and all continues without a restart of a service",
  { skip: isFillable ? false : disk },
  async () => {
    if (!isFillable) return;
    const { nats, dataDir, cli, services, book } = await installation(disk);
    const lines = async () => (await readFile(book, "utf8")).trim().split("\n");
    for (const [index, runId] of runIds.entries())
      await publishCommand(
        cli,
        startRun,
        { agent: "walker" },
        { runId, input: { first: `first ${index}`, later: `later ${index}` } },
      );
    await until(lines, (written) => written.length === RUNS);

    disk.fill();
    const { policy, runner } = services;
    const suspended = () => runner.lines.filter((line) => line.includes('"msg":"run suspended"'));
    await until(
      () => new Set(suspended().map((line) => (JSON.parse(line) as { runId: string }).runId)).size,
      (count) => count === RUNS,
    );
    for (const service of [policy, runner]) {
      // Each detects it at its next write; events of runs are acknowledged before they are written.
      const { text } = await until(
        () => readyz(service),
        ({ status }) => status === 503,
      );
      assert.match(
        text,
        /NATS is connected and stores nothing in YARD_(?:AUDIT|EVENTS|COMMANDS): make room/,
      );
    }

    disk.makeRoom();
    await nats.stop();
    await testNats({
      dataDir,
      port: nats.port,
      authorization: nats.authorization,
      asProgram: true,
    });
    const backAt = Date.now();
    await until(() => cli.status === "connected");
    for (const runId of runIds) {
      const events = await eventsOf(cli, runId);
      assert.equal(events.at(-1)?.name, "finished", JSON.stringify(events.at(-1)));
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1),
      );
      const tookMs = (events.at(-1)?.at ?? 0) - backAt;
      assert.ok(tookMs < BACK_WITHIN_MS, `${runId} ended ${tookMs} ms after NATS was back`);
    }
    const made = await lines();
    assert.equal(made.length, RUNS * (1 + STEPS_AFTERWARDS), "each call was made once");
    for (const [name, service] of Object.entries(services)) {
      assert.equal(service.exitCode(), null, `${name} still runs`);
      await until(
        () => readyz(service),
        ({ status }) => status === 200,
      );
    }
  },
);

const runIds = Array.from({ length: RUNS }, (_, index) => `disk-${index}`);

function append(line: string, more: Readonly<Record<string, unknown>> = {}) {
  return { tool: "mcp__book__append", with: { line: { $from: line }, ...more } };
}

async function readyz({ healthUrl }: TestService) {
  const response = await fetch(`${healthUrl}/readyz`);
  return { status: response.status, text: await response.text() };
}

async function eventsOf(cli: Parameters<typeof readEvents>[0], runId: string) {
  const seen: { name: string; seq: number; at: number }[] = [];
  const filters = [`yard.evt.run.cli.${runId}.*`];
  for await (const { subject, payload } of readEvents(cli, { filters, from: "beginning" })) {
    const { seq, at } = payload as { seq: number; at: string }; // every event of a run has them
    const name = subject.split(".").at(-1) ?? "";
    seen.push({ name, seq, at: Date.parse(at) });
    if (["finished", "failed", "cancelled", "dead", "rejected"].includes(name)) return seen;
  }
  throw new Error(`the events of ${runId} ended too early`);
}

async function installation(small: SmallDisk) {
  const directory = await testDirectory();
  const keys = await ensureKeys(join(directory, "keys"));
  const authorization = keys.authorization({ anonymous: false });
  const dataDir = `${small.directory}/data`;
  const [server, redis] = await Promise.all([
    testNats({ authorization, dataDir, asProgram: true }),
    testRedis(),
  ]);
  const connect = async (user: string) => {
    const nkeySeed = await readSeed(seedFile(keys.path, user));
    const bus = await connectBus({ servers: server.url, user, nkeySeed: () => nkeySeed });
    after(() => bus.close());
    return bus;
  };
  await ensureStreams(await connect("admin"));
  const write = async (name: string, content: string): Promise<string> => {
    const path = join(directory, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, content);
    return path;
  };
  const book = await write("book", "");
  await write("project/agents/walker.yaml", JSON.stringify(AGENT));
  const program = fileURLToPath(new URL("fixtures/counting-server.ts", import.meta.url));
  const bookServer = { command: process.execPath, args: [program], env: { CALLS_FILE: book } };
  const start = (service: string, user: string, env: Readonly<Record<string, string>>) =>
    startServiceProcess(service, {
      YARD_NATS_URL: server.url,
      YARD_NATS_NKEY_FILE: seedFile(keys.path, user),
      YARD_REDIS_URL: redis.url,
      YARD_DRAIN_MS: "1000",
      // With a strict audit calls wait until they are recorded, so each run meets the full disk at its next call.
      YARD_AUDIT: "strict",
      ...testConstants({ auditGiveUpMs: 1_000 }),
      ...env,
    });
  const [policy, importer, broker, runner] = await Promise.all([
    start("policy", "policy", {
      YARD_POLICY_FILE: await write("policy.yaml", POLICY),
      YARD_KEYS_DIR: keys.path,
    }),
    start("skill-importer", "importer", { YARD_SKILL_ROOTS: join(directory, "project") }),
    start("mcp-broker", "broker", {
      YARD_MCP_SERVERS_FILE: await write(
        "mcp-servers.json",
        JSON.stringify({ mcpServers: { book: bookServer } }),
      ),
      YARD_STATE_DIR: join(directory, "state"),
      YARD_MCP_SANDBOX: "off",
    }),
    start("agent-runner", "runner", { YARD_RUNNER_SLOTS: String(RUNS) }),
  ]);
  const cli = await connect("cli");
  await until(async () => {
    const { servers } = await call(cli, listServers, {});
    return servers.every(({ status }) => status === "connected");
  });
  const nats = { port: server.port, stop: () => server.stop(), authorization };
  return { nats, dataDir, cli, services: { policy, importer, broker, runner }, book };
}
