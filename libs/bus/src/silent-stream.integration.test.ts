import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connect } from "@nats-io/transport-node";
import { runFailed } from "@switchyard/contracts/agent-runner/run-events";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { EventRelay } from "./event-relay.ts";
import { testBus } from "@switchyard/testing/test-bus";

test("a server that takes the beginning of a batch and stores nothing is silent until it stores something", async () => {
  const nats = await testNats();
  const bus = await testBus(nats, "runner");
  const server = await connect({ servers: nats.url });
  after(() => server.close());
  // Behaves as nats-server with a full disk: the first message of a batch is answered at once, and no message is stored.
  let begun = 0;
  let isStoring = false;
  server.subscribe("yard.evt.>", {
    callback: (_, message) => {
      begun += 1;
      if (isStoring) message.respond('{"type":"ack","seq":1,"msgs":1}');
      else message.respond('{"type":"ack","seq":0,"msgs":1}');
    },
  });
  await server.flush();
  const troubles: unknown[] = [];
  const relay = new EventRelay(bus, {
    isOutage: () => true,
    onTrouble: (error) => troubles.push(error),
    onRecovered: () => {},
  });
  const stored = Promise.withResolvers<void>();
  const source = {
    hasFailed: false,
    signal: new AbortController().signal,
    isStored: () => false,
    stored: () => stored.resolve(),
    failed: stored.reject,
  };
  const failure = { code: "internal", message: "boom" };
  const payload = { runId: "r1", seq: 1, at: new Date(0).toISOString(), failure, steps: 0 };
  const tokens = { owner: "cli", runId: "r1" };
  const event = { contract: runFailed, tokens, payload, options: { messageId: "r1:1" } };
  relay.push(source, [event]);
  await until(
    () => troubles.length,
    (count) => count > 0,
  );
  assert.deepEqual(bus.silentStreams, ["YARD_EVENTS"]);
  const before = begun;
  await until(
    () => begun,
    (count) => count > before,
  );
  await bus.flush();
  assert.deepEqual(bus.silentStreams, ["YARD_EVENTS"], "only its beginning was answered");
  isStoring = true;
  await stored.promise;
  assert.deepEqual(bus.silentStreams, []);
});
