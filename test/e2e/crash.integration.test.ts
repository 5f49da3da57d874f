import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { startYardDev, type DevProcess } from "../lib/yard-dev.ts";
import { plainClient, type PlainClient } from "./plain-client.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const callsFile = join(directory, "calls");
const dev = await startYardDev({
  project: "test/e2e/project",
  stateDir: join(directory, "state"),
  runners: 2,
  apart: true,
  // NATS and Redis are killed by their pids.
  env: { CALLS_FILE: callsFile, YARD_SERVERS: "" },
});
let client = await plainClient(dev.natsUrl);
after(async () => {
  await client.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Starts the five-call run and waits until its second call has ended. */
async function startAndWaitForSecondCall(runId: string): Promise<void> {
  client.publish("yard.cmd.me.run.start.counter", { runId, input: { first: runId } });
  await client.waitForEvent(
    `yard.evt.run.me.${runId}.tool-completed`,
    ({ payload }) => payload["step"] === 2,
  );
}

/** Asserts that the run finished, in order, and that each of its five calls happened once. */
async function assertFinishedOnce(runId: string): Promise<void> {
  const events = await client.eventsOfRun(runId);
  assert.equal(events.at(-1)?.name, "finished", JSON.stringify(events.at(-1)?.payload));
  assert.deepEqual(
    events.map((event) => event.payload["seq"]),
    events.map((_, index) => index + 1),
    "events are numbered without a gap and none comes twice",
  );
  const lines = (await readFile(callsFile, "utf8")).trim().split("\n");
  const ofRun = lines.slice(lines.indexOf(runId));
  assert.deepEqual(ofRun, [runId, "two", "three", "four", "five"]);
}

function processOf(name: RegExp): DevProcess[] {
  return dev.processes.filter((process) => name.test(process.name));
}

/** The runner that holds a run now. */
async function busyRunner(): Promise<DevProcess> {
  for (const runner of processOf(/^runner/)) {
    const metrics = await (await fetch(new URL("/metrics", runner.healthUrl ?? ""))).text();
    if (/^yard_runner_slots_busy(\{[^}]*\})? [1-9]/m.test(metrics)) return runner;
  }
  throw new Error("no runner reports that it holds a run");
}

test("kill -9 of the runner in the middle of a run: another finishes it, no finished call is repeated", async () => {
  await startAndWaitForSecondCall("killed-runner");
  process.kill((await busyRunner()).pid, "SIGKILL");
  await assertFinishedOnce("killed-runner");
  const events = await client.eventsOfRun("killed-runner");
  assert.ok(events.some((event) => event.name === "resumed"));
});

test("kill -9 of NATS in the middle of a run: everything reconnects and the run finishes", async () => {
  await startAndWaitForSecondCall("killed-nats");
  const [nats] = processOf(/^nats/);
  assert.ok(nats);
  process.kill(nats.pid, "SIGKILL");
  await client.close();
  client = await reconnected();
  await assertFinishedOnce("killed-nats");
});

test("kill -9 of Redis in the middle of a run: everything reconnects and the run finishes", async () => {
  await startAndWaitForSecondCall("killed-redis");
  const [redis] = processOf(/^redis/);
  assert.ok(redis);
  process.kill(redis.pid, "SIGKILL");
  await assertFinishedOnce("killed-redis");
});

async function reconnected(): Promise<PlainClient> {
  return until(() => plainClient(dev.natsUrl).catch(() => null));
}
