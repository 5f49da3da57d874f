import assert from "node:assert/strict";
import { after, test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import { commandStream, runCommands, timerStream } from "@switchyard/topology/streams";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { connectionOf } from "./connection.ts";
import { consume } from "./consume.ts";
import type { Delivery } from "./delivery.ts";
import { scheduleCommand } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { testBus } from "@switchyard/testing/test-bus";

const nats = await testNats();
const bus = await testBus(nats, "runner");
await ensureStreams(bus);
const manager = await jetstreamManager(connectionOf(bus).nc);
const received: Delivery[] = [];
const consumption = consume(bus, {
  consumer: runCommands,
  commands: [resumeRun],
  concurrency: 4,
  handle: async (delivery) => {
    received.push(delivery);
    return { outcome: "done" };
  },
  onFault: ({ error }) => {
    throw error;
  },
});
after(() => consumption.stop());

test("a command comes at its time, as its user's own and with what belongs to it", async () => {
  const at = new Date(Date.now() + 700);
  await scheduleCommand(bus, resumeRun, { runId: "later" }, {}, { at, correlationId: "later" });
  assert.equal(received.length, 0);
  await until(async () => received.length > 0);
  const [delivery] = received;
  assert.ok(Date.now() >= at.getTime());
  assert.equal(delivery?.kind, "command");
  assert.equal(delivery?.subject, "yard.cmd.runner.run.resume.later");
  assert.equal(delivery?.caller, "runner");
  assert.equal(delivery?.correlationId, "later");
});

test("a timer that is set again is moved, and one for a time that is over comes at once", async () => {
  received.length = 0;
  const far = new Date(Date.now() + 3_600_000);
  await scheduleCommand(bus, resumeRun, { runId: "moved" }, {}, { at: far });
  await scheduleCommand(bus, resumeRun, { runId: "moved" }, {}, { at: new Date(0) });
  await until(async () => received.length > 0);
  assert.equal(received.length, 1);
  await until(async () => (await messagesOn("yard.timer.set.>")) === 0);
});

test("neither queue nor events allow schedules: a sender could name another's subject as the target", async () => {
  const { config } = await manager.streams.info(commandStream.name);
  assert.notEqual(config.allow_msg_schedules, true);
  const timers = await manager.streams.info(timerStream.name);
  assert.equal(timers.config.allow_msg_schedules, true);
});

async function messagesOn(subject: string): Promise<number> {
  const { state } = await manager.streams.info(timerStream.name, { subjects_filter: subject });
  return Object.keys(state.subjects ?? {}).length;
}
