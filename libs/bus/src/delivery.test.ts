import assert from "node:assert/strict";
import { test } from "node:test";
import { headers as newHeaders } from "@nats-io/transport-node";
import { HEADERS } from "@switchyard/contracts/headers";
import { payloadsOf } from "@switchyard/topology/payload-stores";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import type { ClaimCheck } from "./claim-check.ts";
import { contentOf, readAckSubject } from "./delivery.ts";

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

test("a command beyond its contract's limits is refused: its JSON before it is parsed, a stored payload before it is fetched", async () => {
  const { maxBytes, maxKeys } = startRun.limits;
  const claims = { get: () => assert.fail("fetched") } as unknown as ClaimCheck; // all that is called
  const keys = Array.from({ length: maxKeys + 1 }, (_, key) => `"k${key}":0`).join();
  const claim = JSON.stringify({
    bucket: payloadsOf("team-a").bucket,
    name: "0".repeat(32),
    size: maxBytes + 1,
    digest: `sha256:${"0".repeat(64)}`,
  });
  const stored = newHeaders();
  stored.set(HEADERS.claim, claim);
  for (const [body, headers, problem] of [
    [`{"labels":{${keys}}}`, newHeaders(), /more than \d+ keys/],
    ["", stored, /larger than \d+ bytes/],
  ] as const) {
    const message = {
      subject: "yard.cmd.team-a.run.start.echo",
      headers,
      data: Buffer.from(body),
      string: () => assert.fail("read"),
    };
    const content = await contentOf(message, [startRun], claims);
    assert.equal(content.kind === "rejected" && content.code, "invalid_command");
    assert.match(content.kind === "rejected" ? content.problems.join() : "", problem);
  }
});
