import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { testNats } from "@switchyard/testing/test-servers";
import { whoami } from "../test-fixtures/whoami.ts";
import { call } from "./call.ts";
import { connectionOf } from "./connection.ts";
import { serve } from "./serve.ts";
import { testBus } from "@switchyard/testing/test-bus";

const nats = await testNats();
const caller = await testBus(nats, "cli");
const script = fileURLToPath(new URL("../test-fixtures/replica.ts", import.meta.url));

async function replica() {
  const child = spawn(process.execPath, [script, nats.url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

test("a call that takes long is waited for, and a client without support for notes gets its answer too", async () => {
  const bus = await testBus(nats, "oracle");
  const service = serve(bus, {
    name: "oracle",
    version: "1.0.0",
    description: "Takes its time",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  service.handle(whoami, async () => {
    await delay(10_000);
    return { pid: process.pid };
  });
  await bus.flush();
  const timeout = 60_000;
  const [ours, foreign] = await Promise.all([
    call(caller, whoami, {}, { timeoutMs: timeout }),
    connectionOf(caller).nc.request("yard.rpc.cli.oracle.whoami", "{}", { timeout }),
  ]);
  assert.deepEqual(ours, { pid: process.pid });
  assert.deepEqual(foreign.json(), { ok: true, value: ours });
  await bus.drain();
});

test("a frozen replica gets no more calls after 6 s, and its share again when it resumes", async () => {
  const [frozen, other] = await Promise.all([replica(), replica()]);
  const answers = async () =>
    Promise.allSettled(
      Array.from({ length: 20 }, () => call(caller, whoami, {}, { timeoutMs: 2_000 })),
    );
  const answering = (settled: Awaited<ReturnType<typeof answers>>) =>
    new Set(settled.map((one) => (one.status === "fulfilled" ? one.value.pid : null)));

  frozen.kill("SIGSTOP");
  const frozenAt = performance.now();
  let seen = answering(await answers());
  assert.ok(seen.has(null), "it has its share while NATS believes that it is there");
  while (seen.has(null)) {
    assert.ok(
      performance.now() - frozenAt < 60_000,
      "calls still reach the replica after a minute",
    );
    seen = answering(await answers());
  }
  assert.deepEqual([...seen], [other.pid]);

  frozen.kill("SIGCONT");
  const end = performance.now() + 30_000;
  while (!seen.has(frozen.pid ?? 0)) {
    assert.ok(performance.now() < end, "the replica has not come back within 30 s");
    seen = answering(await answers());
  }
});
