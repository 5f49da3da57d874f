import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { after, test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { testBus } from "@switchyard/testing/test-bus";
import { listSessions } from "@switchyard/contracts/agent-runner/sessions";
import { listSkills } from "@switchyard/contracts/skill-importer/skills";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { yard, yardEnvironment } from "../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const own = yardEnvironment(directory);
const complete = (env: NodeJS.ProcessEnv, ...words: string[]) =>
  yard(["__complete", ...words], env);

async function offered(env: NodeJS.ProcessEnv, ...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await complete(env, ...words);
  assert.deepEqual([code, stderr], [0, ""]);
  return stdout.split("\n").filter((line) => line !== "");
}

/** Other commands wait five seconds for a connection. */
const CONNECTION_MS = 5_000;

/** Nothing is offered, sooner than a connection attempt would fail; a busy machine may need several tries. */
async function offersNothingSoon(env: NodeJS.ProcessEnv, ...words: string[]): Promise<void> {
  await until(
    async () => {
      const startedAt = performance.now();
      assert.deepEqual(await offered(env, ...words), []);
      return performance.now() - startedAt;
    },
    (tookMs) => tookMs < CONNECTION_MS,
  );
}

test("commands, options, topics and shells are completed without a bus", async () => {
  assert.deepEqual(await offered(own, "sess"), ["sessions"]);
  assert.deepEqual(await offered(own, "sessions", "sho"), ["show"]);
  assert.deepEqual(await offered(own, "chat", "--sess"), ["--session"]);
  assert.deepEqual(await offered(own, "help", "exit"), ["exit-codes"]);
  assert.deepEqual(await offered(own, "completion", ""), ["bash", "zsh", "fish"]);
});

test("without a bus there are no names, and Tab never hangs: no instance, no listener, no reply", async () => {
  await offersNothingSoon(own, "sessions", "show", "");
  // It accepts connections and never writes, as a host behind a firewall or a frozen server does.
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo; // a TCP server's
  after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const mute = { ...own, YARD_NATS_URL: `nats://127.0.0.1:${port}` };
  await offersNothingSoon(mute, "sessions", "show", "");
  assert.ok(sockets.size > 0, "it was tried");
  const closed = { ...own, YARD_NATS_URL: "nats://127.0.0.1:1" };
  await offersNothingSoon(closed, "sessions", "show", "");
});

test("names come from the bus, and a service that does not answer gives none", async () => {
  const nats = await testNats();
  const env = { ...own, YARD_NATS_URL: nats.url };
  await offersNothingSoon(env, "chat", "--session", "");
  const bus = await testBus(nats, "runner");
  const service = serve(bus, {
    name: "runner",
    version: "0.0.0",
    description: "Sessions to be completed",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  const AT = "2026-01-01T00:00:00.000Z";
  const session = {
    sessionId: `ses-${"a".repeat(26)}-1`,
    owner: "cli",
    kind: "other" as const,
    label: null,
    agent: "demo",
    model: null,
    onBusy: "enqueue" as const,
    createdAt: AT,
    updatedAt: AT,
    endsAt: AT,
    messages: 0,
    droppedMessages: 0,
    bytes: 0,
    activeRun: null,
    queued: 0,
    lastRun: null,
    totalTokens: 0,
  };
  const sessions = [
    { ...session, key: "support" },
    { ...session, key: "sales" },
  ];
  service.handle(listSessions, () => ({ count: 2, sessions, next: null }));
  const released = Promise.withResolvers<void>();
  service.handle(listSkills, async () => {
    await released.promise;
    return { skills: [] };
  });
  await bus.flush();
  // On a busy machine one request may reach the limit, which is short by intent.
  const found = await until(
    () => offered(env, "chat", "--session", "su"),
    (names) => names.length > 0,
  );
  assert.deepEqual(found, ["support"]);
  await offersNothingSoon(env, "skills", "show", "");
  released.resolve();
});
