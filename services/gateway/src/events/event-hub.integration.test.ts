import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connectionOf } from "@switchyard/bus/connection";
import { ensureStreams } from "@switchyard/bus/streams";
import { testBus } from "@switchyard/testing/test-bus";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { openEventHub } from "./event-hub.ts";

const nats = await testNats();
const bus = await testBus(nats, "gateway");
await ensureStreams(bus);
const { nc, replies } = connectionOf(bus);
const log = createLog({ service: "test", level: "silent" });
const hub = openEventHub(bus, log, 1);
after(() => hub.stop());

async function consumers(): Promise<number> {
  const subject = "$JS.API.STREAM.INFO.YARD_EVENTS";
  const answer = await replies.request({ subject, body: "", timeoutMs: 10_000 });
  return (JSON.parse(answer.string()) as { state: { consumer_count: number } }).state // The server's own form of the answer.
    .consumer_count;
}

test("no event is delivered while the gateway has no request for events", async () => {
  assert.equal(await consumers(), 0);
  assert.equal(hub.isWell(), true);
  const leave = await hub.attend();
  assert.equal(await consumers(), 1);
  leave();
  await until(async () => (await consumers()) === 0);
  assert.equal(hub.isWell(), true);
});

test("what is stored from the request on is received, also by a listener that stays longer than the request", async () => {
  for (const round of ["first", "second"]) {
    const leave = await hub.attend();
    const received: string[] = [];
    const remove = hub.onEvent(({ subject }) => received.push(subject));
    await nc.request(`yard.evt.run.cli.${round}.started`, "{}");
    leave();
    // The second answer comes after the time for which the consumer stays open without a request.
    for (let look = 0; look < 2; look += 1) assert.equal(await consumers(), 1);
    await nc.request(`yard.evt.run.cli.${round}.finished`, "{}");
    await until(() => received.length === 2);
    assert.deepEqual(
      received.map((subject) => subject.split(".")[4]),
      [round, round],
    );
    remove();
    await until(async () => (await consumers()) === 0);
  }
});
