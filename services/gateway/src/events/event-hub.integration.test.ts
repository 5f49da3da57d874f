import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connectionOf } from "@switchyard/bus/connection";
import { headersOf } from "@switchyard/bus/message-headers";
import { ensureStreams } from "@switchyard/bus/streams";
import { ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import { testBus } from "@switchyard/testing/test-bus";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { openEventHub } from "./event-hub.ts";

const nats = await testNats();
const bus = await testBus(nats, "gateway");
await ensureStreams(bus);
const { nc, replies, claims } = connectionOf(bus);
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

test("a reading that fails at its first event resumes at that event", async (t) => {
  const leave = await hub.attend();
  const received: unknown[] = [];
  const remove = hub.onEvent(({ payload }) => received.push(payload));
  const subject = "yard.evt.run.cli.large.started";
  const payload = { preview: "x" };
  const claim = await claims.put(JSON.stringify(payload), { subject, owner: "cli" });
  const failure = new ServiceError("timeout", "the payload store does not answer");
  const { mock } = t.mock.method(claims, "get", () => Promise.reject(failure), { times: 1 });
  await nc.request(subject, "", {
    timeout: 10_000,
    headers: headersOf({ [HEADERS.claim]: claim }),
  });
  await until(() => mock.callCount() > 0 && received.length > 0);
  assert.deepEqual(received, [payload]);
  remove();
  leave();
});
