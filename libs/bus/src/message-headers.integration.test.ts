import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connect, headers, type Msg, type MsgHdrs } from "@nats-io/transport-node";
import { testNats } from "@switchyard/testing/test-servers";
import { headerBlock, headerOf } from "./message-headers.ts";

const nats = await testNats();
const nc = await connect({ servers: nats.url });
after(() => nc.close());

/** The message as it arrives. */
function sentAndReceived(body: string, sent?: MsgHdrs): Promise<Msg> {
  return new Promise((resolve, reject) => {
    const callback = (error: Error | null, message: Msg): void =>
      error === null ? resolve(message) : reject(error);
    nc.subscribe("read.me", { max: 1, callback });
    nc.publish("read.me", body, sent === undefined ? {} : { headers: sent });
  });
}

test("what a connection receives is read without the client library's headers", async () => {
  const sent = headers();
  sent.append("Yard-Deadline", " 5 ");
  sent.append("Yard-Deadline", "6");
  const message = await sentAndReceived("Yard-Deadline: 7", sent);
  assert.match(headerBlock(message) ?? "", /^NATS\/1\.0\r\nYard-Deadline: 5\r\n/);
  assert.equal(headerOf(message, "Yard-Deadline"), "5");
  assert.equal(headerOf(message, "yard-deadline"), undefined);
});

test("a message without headers has none, whatever its body looks like", async () => {
  const message = await sentAndReceived("NATS/1.0\r\nYard-Deadline: 7\r\n\r\n");
  assert.equal(headerBlock(message), "");
  assert.equal(headerOf(message, "Yard-Deadline"), undefined);
});
