import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import {
  broadcastChannelMessage,
  deleteChannelMessage,
  lastAddress,
  listChannelAccounts,
  pinMessage,
  reactToMessage,
  readChannelMessages,
  resolveTarget,
  sendChannelMessage,
} from "@switchyard/contracts/channels/channels";
import { ServiceError } from "@switchyard/contracts/errors";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { channelsWorld } from "../../test-fixtures/channels-world.ts";

const faults = {
  gone: "not_found",
  limited: "rate_limited",
  silent: "timeout_unknown",
  lost: "lost_answer",
  broken: "provider_error",
};
const world = await channelsWorld({
  loopback: {
    main: { caller: "cli", callers: ["team-a"], config: { faults, retryAfterMs: 600_000 } },
    once: {
      caller: "cli",
      config: { faults: { never: "final_error" }, faultCount: 1 },
    },
    plain: {
      caller: "cli",
      config: {
        faults,
        capabilities: {
          actions: ["send"],
          maxTextLength: 20,
          media: null,
          effects: [],
          idempotentSend: false,
        },
      },
    },
  },
});
const directory = await testDirectory();
const service = await world.start({ YARD_CHANNELS_ROOTS: directory });
const [teamA, teamB] = await Promise.all([world.bus("team-a"), world.bus("team-b")]);
const to = (id: string, accountId = "main", threadId?: string) => ({
  channel: "loopback",
  accountId,
  target: { kind: "user" as const, id },
  ...(threadId === undefined ? {} : { threadId }),
});
const send = (request: Parameters<typeof call<typeof sendChannelMessage>>[2], bus = world.cli) =>
  call(bus, sendChannelMessage, request);
const read = async (id: string, accountId = "main", threadId?: string) =>
  (await call(world.cli, readChannelMessages, { address: to(id, accountId, threadId) })).messages;
/** The event about the end of a send. */
const reportedBy = (sendId: string) =>
  until(async () => {
    const filters = [`yard.evt.message.cli.${sendId}.*`];
    const events = readEvents(world.cli, { filters, from: "beginning", stopAtEnd: true });
    for await (const event of events) return event;
    return null;
  });
const refused = async (work: Promise<unknown>): Promise<ServiceError> => {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
};

test("sends a message, returns its ids and time, and publishes an event [N2][N9][F13]", async () => {
  const sent = await send({ to: to("ann"), text: "hello", tool: "message_send" });
  assert.equal(sent.kind, "send");
  assert.equal(sent.messageIds.length, 1);
  assert.ok(sent.sentAt !== null);
  const [kept] = await read("ann");
  assert.equal(kept?.text, "hello");
  assert.equal(kept.isOwn, true);
  const reported = await reportedBy(sent.sendId);
  assert.equal(reported.contract?.name, "message.sent");
  assert.deepEqual((reported.payload as { address: unknown }).address, to("ann"));
});

test("the same key is the same message: the first result again, another text is a conflict [N3]", async () => {
  const request = { to: to("bob"), text: "once", idempotencyKey: "k1" };
  const [first, second] = await Promise.all([send(request), send(request)]);
  assert.equal(first.sendId, second.sendId);
  assert.deepEqual(first.messageIds, second.messageIds);
  assert.equal((await send(request)).replayed, true);
  assert.equal((await read("bob")).length, 1);
  const other = await refused(send({ ...request, text: "twice" }));
  assert.equal(other.code, "idempotency_conflict");
  const theirs = await send(request, teamA);
  assert.notEqual(theirs.sendId, first.sendId, "a key is the caller's own");
});

test("a message that the provider refuses for good ends at once, and the next one to the chat is sent", async () => {
  const message = { to: to("never", "once"), text: "no" };
  const { code } = await refused(send(message));
  assert.equal(code, "provider_error");
  await send(message); // the account accepts messages from its second one on, so the first was not retried
});

test("a dry run reports the attachments by their bytes, and a repeated request may have their digest", async () => {
  const source = join(directory, "silence.png");
  await writeFile(source, "RIFF\0\0\0\0WAVEfmt ");
  const request = { to: to("files"), attachments: [{ source }] };
  const { loadedFiles } = await send({ ...request, dryRun: true });
  const [file] = loadedFiles ?? [];
  assert.deepEqual(
    [file?.name, file?.mediaType, file?.sizeBytes],
    ["silence.png", "audio/wav", 16],
  );
  const attachments = [{ source, sha256: file?.sha256 }];
  const first = await send({ ...request, idempotencyKey: "file" });
  const again = await send({ ...request, attachments, idempotencyKey: "file" });
  assert.deepEqual([again.sendId, again.replayed], [first.sendId, true]);
  await writeFile(source, "changed");
  const { code } = await refused(send({ ...request, attachments }));
  assert.equal(code, "bad_attachment");
});

test("a long text becomes pieces in their order, with all their ids [N2][N4]", async () => {
  const text = Array.from({ length: 12 }, (_, index) => `word${index}`).join(" ");
  const { messageIds } = await send({ to: to("long", "plain"), text });
  assert.ok(messageIds.length > 3);
  assert.deepEqual(
    messageIds.map(Number),
    messageIds.map((_, index) => index + 1),
  );
});

test("replies, threads and silent messages go where they belong [N1][F14][F15]", async () => {
  const first = await send({ to: to("cid"), text: "first" });
  const reply = await send({
    to: to("cid"),
    text: "reply",
    replyToMessageId: first.messageIds[0] ?? "",
  });
  await send({ to: to("cid", "main", "t1"), text: "in a thread" });
  const messages = await read("cid");
  assert.equal(messages.at(-1)?.replyToMessageId, first.messageIds[0]);
  assert.equal(messages.at(-1)?.messageId, reply.messageIds[0]);
  assert.deepEqual(
    (await read("cid", "main", "t1")).map(({ text }) => text),
    ["in a thread"],
  );
});

test("an unsupported feature is refused with the code, or left out where the request allows it [N4][N10][F20]", async () => {
  const unsupported = [
    send({ to: to("x", "plain"), text: "x", replyToMessageId: "1" }),
    send({ to: to("x", "plain", "t"), text: "x" }),
    send({ to: to("x", "plain"), text: "x", effectId: "confetti" }),
    call(world.cli, readChannelMessages, { address: to("x", "plain") }),
  ];
  for (const work of unsupported) assert.equal((await refused(work)).code, "unsupported");
  const plain = await send({
    to: to("x", "plain"),
    text: "x",
    effectId: "confetti",
    effectFallback: "plain",
  });
  assert.deepEqual(plain.degraded, ["effect"]);
  const nothing = await refused(send({ to: to("x"), text: "  " }));
  assert.match(nothing.message, /send requires text or media/);
});

test("each failure has its code, and an unknown end is never sent again [N6]", async () => {
  assert.equal((await refused(send({ to: to("gone"), text: "x" }))).code, "not_found");
  const limited = await refused(send({ to: to("limited"), text: "x" }));
  assert.equal(limited.code, "rate_limited");
  assert.equal((limited.data as { retryAfterMs: number }).retryAfterMs, 600_000);
  const request = { to: to("lost", "plain"), text: "x", idempotencyKey: "lost" };
  const lost = await refused(send(request));
  assert.equal(lost.code, "timeout_unknown");
  assert.equal(lost.retryable, false);
  assert.equal((await refused(send(request))).code, "timeout_unknown");
  const { sendId } = lost.data as { sendId: string };
  const reported = await reportedBy(sendId);
  assert.equal(reported.contract?.name, "message.unconfirmed");
});

test("a broadcast has a result for each target, and a failure stops no other [N7][F16]", async () => {
  const targets = ["a", "gone", "b", "limited", "c"];
  const { results, sent, failed } = await call(world.cli, broadcastChannelMessage, {
    to: targets.map((id) => to(id)),
    text: "all",
  });
  assert.deepEqual([sent, failed], [3, 2]);
  assert.deepEqual(
    results.map(({ ok, error }) => error?.code ?? ok),
    [true, "not_found", true, "rate_limited", true],
  );
});

test("reacts, pins, deletes and resolves [F17][F18][F21]", async () => {
  const { messageIds, address } = await send({ to: to("dee"), text: "x" });
  const message = { address, messageId: messageIds[0] ?? "" };
  const acted = await call(world.cli, reactToMessage, { message, emoji: "👍" });
  assert.deepEqual([acted.kind, acted.action], ["action", "react"]);
  await call(world.cli, pinMessage, { message });
  const marksOf = async () => {
    const { messages } = await call(world.cli, readChannelMessages, { address });
    return messages.map(({ reactions, isPinned }) => ({ reactions, isPinned }));
  };
  assert.deepEqual(await marksOf(), [{ reactions: ["👍"], isPinned: true }]);
  await call(world.cli, reactToMessage, { message, emoji: "👍", remove: true });
  await call(world.cli, pinMessage, { message, unpin: true });
  assert.deepEqual(await marksOf(), [{ reactions: [], isPinned: false }]);
  await call(world.cli, deleteChannelMessage, { message });
  const again = await refused(call(world.cli, deleteChannelMessage, { message }));
  assert.equal(again.code, "not_found");
  const found = await call(world.cli, resolveTarget, {
    channel: "loopback",
    accountId: "main",
    query: "group:x",
  });
  assert.deepEqual(found.address.target, { kind: "group", id: "x" });
  const wrong = await refused(
    call(world.cli, resolveTarget, {
      channel: "loopback",
      accountId: "main",
      query: "user:x",
      kind: "group",
    }),
  );
  assert.match(wrong.message, /resolved to a user target/);
});

test("an account is for its caller and those that channels.json names; for others there is none", async () => {
  assert.ok(await send({ to: to("eve"), text: "x" }, teamA));
  const other = await refused(send({ to: to("eve", "plain"), text: "x" }, teamA));
  assert.equal(other.code, "unknown_account");
  assert.deepEqual((other.data as { known: string[] }).known, ["loopback/main"]);
  const stranger = await refused(send({ to: to("eve"), text: "x" }, teamB));
  assert.equal(stranger.code, "unknown_account");
  const posing = await refused(send({ to: to("eve"), text: "x", onBehalfOf: "cli" }, teamB));
  assert.equal(posing.code, "unknown_account", "only services speak for others");
  assert.deepEqual((await call(teamB, listChannelAccounts, {})).accounts, []);
});

test("no new message is sent when Redis is nearly full, and requests about earlier ones are answered", async () => {
  const request = { to: to("flo"), text: "once", idempotencyKey: "before" };
  await send(request);
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: world.redisUrl, name: "test", log });
  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info("memory"))?.[1]);
  await redis.config("SET", "maxmemory", Math.floor(used / 0.88));
  const sendAnother = (text: string) => send({ to: to("flo"), text });
  const full = await until(() =>
    sendAnother("more").then(
      () => null,
      (error: unknown) => error,
    ),
  );
  assert.ok(full instanceof ServiceError);
  assert.deepEqual([full.code, full.retryable], ["storage_full", true]);
  assert.equal((await send(request)).replayed, true);
  await redis.config("SET", "maxmemory", 0);
  await until(() => sendAnother("again").then(Boolean, () => false));
  redis.disconnect();
});

// This test is the last one, since it leaves Redis unavailable.
test("requests that need Redis report that it is away, and that is no fault of the service", async () => {
  await world.redis.stop();
  const attempts = {
    send: () => send({ to: to("ann"), text: "hello" }),
    last: () => call(world.cli, lastAddress, {}),
  };
  for (const [name, attempt] of Object.entries(attempts))
    await assert.rejects(
      attempt(),
      (error) => {
        assert.ok(error instanceof ServiceError);
        assert.equal(error.code, "store_unavailable", error.message);
        return true;
      },
      name,
    );
  assert.deepEqual(
    service.lines.filter((line) => line.includes("handler fault")),
    [],
  );
});
