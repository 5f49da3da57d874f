import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MsgHdrsImpl } from "@nats-io/transport-node";
import { HEADERS } from "@switchyard/contracts/headers";
import { correlationHeaders, headerBlock, headerOf, headersOf } from "./message-headers.ts";

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

const headerName = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/);
const headerValue = fc.stringMatching(/^[ -~äß€]{0,30}$/);

/** A message as the client library hands it out, with these header lines. */
const received = (lines: readonly (readonly [string, string])[]) => {
  const block = `NATS/1.0\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  const bytes = Buffer.from(block);
  const message = {
    headers: MsgHdrsImpl.decode(bytes),
    _msg: { hdr: bytes.length },
    _rdata: Buffer.concat([bytes, Buffer.from(`\r\nBody: ${lines.length}\r\n`)]),
  };
  return message;
};

test("a header is read as the client library reads it", () => {
  const line = fc.tuple(headerName, headerValue);
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), headerName, (lines, absent) => {
      const message = received(lines);
      for (const name of [absent, "Body", ...lines.map(([known]) => known)])
        assert.equal(headerOf(message, name), message.headers.get(name) || undefined, name);
    }),
  );
});

test("a message that keeps its headers elsewhere is read by the library", () => {
  const message = { headers: received([["Yard-Deadline", "5"]]).headers };
  assert.equal(headerBlock(message), null);
  assert.equal(headerOf(message, "Yard-Deadline"), "5");
});
