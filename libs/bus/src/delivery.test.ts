import assert from "node:assert/strict";
import { test } from "node:test";
import { readAckSubject } from "./delivery.ts";
import { retryDelayMs } from "./retry-delay.ts";

const FACTS = {
  deliveryCount: 3,
  streamSequence: 17,
  consumerSequence: 21,
  publishedAtMs: 1_763_764_496_123,
  pending: 5,
};

test("both shapes of the ack subject are read", () => {
  const rest = "3.17.21.1763764496123456789.5";
  assert.deepEqual(readAckSubject(`$JS.ACK.YARD_COMMANDS.agent-runner.${rest}`), FACTS);
  assert.deepEqual(readAckSubject(`$JS.ACK._.ACCHASH.YARD_COMMANDS.agent-runner.${rest}`), FACTS);
  assert.deepEqual(
    readAckSubject(`$JS.ACK.hub.ACCHASH.YARD_COMMANDS.agent-runner.${rest}.rANDOM`),
    FACTS,
  );
});

test("any other reply subject is refused", () => {
  for (const subject of ["", "_INBOX.x.y", "$JS.ACK.a.b.c", "$JS.NAK.s.c.1.2.3.4.5"]) {
    assert.throws(() => readAckSubject(subject), TypeError);
  }
});

test("the rest between attempts grows and has a ceiling", () => {
  assert.deepEqual(
    [1, 2, 3, 6, 7, 8, 1_000].map(retryDelayMs),
    [1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000],
  );
  assert.equal(retryDelayMs(0), 1_000);
});
