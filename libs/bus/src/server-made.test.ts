import assert from "node:assert/strict";
import { test } from "node:test";
import { MsgHdrsImpl } from "@nats-io/transport-node";
import { isServerMade } from "./server-made.ts";

const plain = {};

test("a message with the mark of a stored one is the server's, whatever is in it", () => {
  const headers = new MsgHdrsImpl();
  headers.set("Nats-Stream", "OBJ_YARD_PAYLOADS");
  assert.equal(isServerMade({ headers }, { input: "x" }), true);
});

test("answers of the JetStream API and acknowledgements are the server's", () => {
  const bodies = [
    { type: "io.nats.jetstream.api.v1.account_info_response", memory: 0 },
    { type: "io.nats.jetstream.api.v1.stream_info_response", error: { code: 404 } },
    { stream: "YARD_COMMANDS", seq: 5 },
    { stream: "YARD_COMMANDS", seq: 5, duplicate: true },
    { error: { code: 503 }, stream: "YARD_COMMANDS" },
  ];
  for (const body of bodies) assert.equal(isServerMade(plain, body), true, JSON.stringify(body));
});

test("what people and programs send is not", () => {
  const bodies = [
    {},
    null,
    "text",
    [],
    { input: "x" },
    { type: "question", stream: true },
    { stream: "stderr", text: "a log line" },
    { seq: 1 },
  ];
  for (const body of bodies) assert.equal(isServerMade(plain, body), false, JSON.stringify(body));
});
