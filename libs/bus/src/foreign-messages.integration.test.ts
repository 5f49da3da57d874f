import assert from "node:assert/strict";
import { after, test } from "node:test";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import {
  anonymousUser,
  installedUsers,
  type BusUser,
  type ForeignSource,
} from "@switchyard/topology/topology";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { connect } from "nats";
import { subscribeForeign, readStream, type ForeignMessage } from "./foreign-messages.ts";
import { createUserKey } from "./keys.ts";
import { testBus } from "@switchyard/testing/test-bus";

// The scheduler has the rights of two sources, and the operator's own client has all rights.
const sources: ForeignSource[] = [
  { subject: "shop.orders.*.paid", stored: null },
  { subject: "shop.returns.>", stored: { stream: "RETURNS", consumer: "yard-job-1" } },
];
const key = createUserKey();
const users = installedUsers.map((user): BusUser =>
  user.name === "scheduler" ? Object.assign({}, user, { foreignSources: sources }) : user,
);
const authorization = natsAuthorization({
  users: users.map((user) => ({
    user,
    nkey: user.name === "scheduler" ? key.publicKey : createUserKey().publicKey,
  })),
  anonymous: { ...anonymousUser, sends: ["shop.>", "$JS.API.>", "$JS.ACK.>"] },
});
const nats = await testNats({ authorization });
const scheduler = () => testBus(nats, "scheduler", { nkeySeed: () => key.seed });
const [one, other] = [await scheduler(), await scheduler()];
const shop = await connect({ servers: nats.url });
after(() => shop.close());
const jetstream = shop.jetstream();
const manager = await shop.jetstreamManager();
await manager.streams.add({ name: "RETURNS", subjects: ["shop.returns.>"] });

const paid = "shop.orders.1.paid";
const unexpected = (error: unknown): void => assert.fail(String(error));

test("of two replicas one receives each message of a subject, and no answer of the server", async () => {
  const received: ForeignMessage[] = [];
  const options = {
    subject: "shop.orders.*.paid",
    onRefused: unexpected,
    onMessage: (message: ForeignMessage) => void received.push(message),
  };
  const hearings = [one, other].map((bus) => subscribeForeign(bus, options));
  await Promise.all([one.flush(), other.flush()]);
  // Answers to these requests go to the subject, past all permissions.
  shop.publish("$JS.API.STREAM.INFO.RETURNS", "", { reply: paid });
  shop.publish("shop.returns.0", "stored", { reply: paid });
  for (let count = 0; count < 20; count += 1) shop.publish(paid, `{"count":${count}}`);
  shop.publish("shop.orders.1.cancelled", "not asked for");
  await shop.flush();
  await until(() => received.length >= 20);
  for (const subscription of hearings) subscription.stop();
  await Promise.all([one.flush(), other.flush()]);
  assert.equal(received.length, 20);
  assert.equal(new Set(received.map(({ text }) => text)).size, 20);
  assert.deepEqual([received[0]?.subject, received[0]?.sequence], [paid, null]);
  await manager.streams.purge("RETURNS");
});

test("a subscription that the server's permissions refuse is reported", async () => {
  const refused: unknown[] = [];
  const subscription = subscribeForeign(one, {
    subject: "shop.secrets",
    onRefused: (error) => void refused.push(error),
    onMessage: () => assert.fail("received"),
  });
  await until(() => refused.length > 0);
  assert.match(String(refused[0]), /may not subscribe shop\.secrets/);
  subscription.stop();
});

test("a stream is read from its new messages on, each message until it is done, by any replica", async () => {
  await jetstream.publish("shop.returns.old", new TextEncoder().encode("before"));
  const seen: { text: string; sequence: number | null; messageId: string | null }[] = [];
  const read = (
    bus: typeof one,
    handle: (message: ForeignMessage) => Promise<"done" | { retryMs: number }>,
  ) =>
    readStream(bus, {
      stream: "RETURNS",
      consumer: "yard-job-1",
      subject: "shop.returns.>",
      from: "new",
      atOnce: 2,
      handle,
      onFault: () => {},
    });
  let failures = 2;
  const first = read(one, async (message) => {
    seen.push(message);
    failures -= 1;
    if (failures === 1) throw new Error("not now");
    return failures === 0 ? { retryMs: 10 } : "done";
  });
  await until(
    async () => (await manager.consumers.info("RETURNS", "yard-job-1").catch(() => null)) !== null,
  );
  await jetstream.publish("shop.returns.1", new TextEncoder().encode("one"), { msgID: "r-1" });
  await until(() => seen.length >= 3);
  assert.deepEqual(
    [...new Set(seen.map(({ text, messageId }) => `${text} ${messageId}`))],
    ["one r-1"],
  );
  await until(
    async () => (await manager.consumers.info("RETURNS", "yard-job-1")).num_ack_pending === 0,
  );
  await first.stop();
  for (const text of ["two", "three"])
    await jetstream.publish("shop.returns.2", new TextEncoder().encode(text));
  const later: string[] = [];
  const second = read(other, async ({ text }) => {
    later.push(text);
    return "done";
  });
  await until(() => later.length >= 2);
  await second.stop();
  assert.deepEqual(later.toSorted(), ["three", "two"], "messages without a reader were stored");
});

test("a stream that does not exist is waited for, and reported once", async () => {
  const faults: unknown[] = [];
  const reading = readStream(one, {
    stream: "RETURNS",
    consumer: "not-mine",
    subject: "shop.returns.>",
    from: "all",
    atOnce: 1,
    handle: async () => "done",
    onFault: (error) => void faults.push(error),
  });
  await until(() => faults.length > 0);
  assert.match(String(faults[0]), /may not publish \$JS\.API\.CONSUMER\.CREATE\.RETURNS\.not-mine/);
  await reading.stop();
});
