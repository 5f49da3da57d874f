import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MsgHdrsImpl } from "@nats-io/transport-node";
import { HEADERS } from "@switchyard/contracts/headers";
import { correlationHeaders, headersOf } from "./message-headers.ts";

const encoded = (values: Record<string, string>): MsgHdrsImpl => {
  const headers = headersOf(values);
  assert.ok(headers instanceof MsgHdrsImpl);
  return MsgHdrsImpl.decode(headers.encode());
};

test("no value can add a header of its own", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("\r", "\n", "\r\n", "Nats-Msg-Id: x", "a", ":")),
      (parts) => {
        const decoded = encoded({ [HEADERS.correlationId]: parts.join("") });
        assert.deepEqual(decoded.keys(), [HEADERS.correlationId]);
      },
    ),
  );
});

test("plain values arrive as they were sent", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,100}$/), (value) => {
      assert.equal(encoded({ [HEADERS.correlationId]: value }).get(HEADERS.correlationId), value);
    }),
  );
});

test("what is given is passed on and what is missing begins anew", () => {
  const given = {
    correlationId: "run-1",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  };
  const passedOn = correlationHeaders(given);
  assert.equal(passedOn[HEADERS.correlationId], given.correlationId);
  assert.equal(passedOn[HEADERS.traceparent], given.traceparent);
  assert.notEqual(
    correlationHeaders({})[HEADERS.correlationId],
    correlationHeaders({})[HEADERS.correlationId],
  );
});
