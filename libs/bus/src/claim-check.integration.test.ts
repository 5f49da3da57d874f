import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { DiscardPolicy, jetstreamManager } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { digestOf } from "@switchyard/contracts/canonical-json";
import { rpc } from "@switchyard/contracts/define";
import { HEADERS } from "@switchyard/contracts/headers";
import { bucketStream, payloadsOf, sharedPayloads } from "@switchyard/topology/payload-stores";
import { testNats } from "@switchyard/testing/test-servers";
import { z } from "zod";
import { call } from "./call.ts";
import { StoreWatch } from "./store-watch.ts";
import { ClaimCheck, ClaimError, MAX_PAYLOAD_BYTES } from "./claim-check.ts";
import { connectionOf } from "./connection.ts";
import { headersOf } from "./message-headers.ts";
import { serve } from "./serve.ts";
import { ensureStreams } from "./streams.ts";
import { testBus } from "@switchyard/testing/test-bus";

const echo = rpc({
  subject: "yard.rpc.{caller}.target.echo",
  summary: "Sends a text back.",
  request: z.strictObject({ text: z.string(), times: z.int().default(1) }),
  reply: z.object({ text: z.string() }),
  timeoutMs: 60_000,
});

const digestOfArchive = rpc({
  subject: "yard.rpc.{caller}.target.digest",
  summary: "Answers the digest of what is attached.",
  request: z.strictObject({}),
  reply: z.object({ digest: z.string().nullable() }),
  attachment: { maxBytes: 2_000_000 },
});

const nats = await testNats();
const caller = await testBus(nats, "cli");
const target = await testBus(nats, "target");
const { claims, nc } = connectionOf(caller);
const own = payloadsOf("cli").bucket;
const bucket = bucketStream({ bucket: own });
const missing = await call(caller, echo, { text: "x".repeat(600_000) }).catch(
  (error: unknown) => error,
);
await ensureStreams(caller);
const manager = await jetstreamManager(nc);
const service = serve(target, {
  name: "target",
  version: "1.0.0",
  description: "",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(echo, ({ text, times }) => ({ text: text.repeat(times) }));
service.handle(digestOfArchive, async (_request, context) => {
  const bytes = await context.attachment();
  return { digest: bytes && digestOf(bytes) };
});
await target.flush();

async function storedChunks(): Promise<number> {
  const { state } = await manager.streams.info(bucket);
  return state.messages;
}

test("the error for a missing bucket names the command that creates it", async () => {
  assert.match(String(missing), /yard streams ensure/);
  const unknown = await testBus(nats, "team-new");
  await assert.rejects(call(unknown, echo, { text: "x".repeat(600_000) }), {
    code: "payload_too_large",
    message: /no payload bucket YARD_PAYLOADS_team-new.*yard streams ensure/,
  });
});

test("payloads of an older version are read until they expire", async () => {
  const stream = bucketStream(sharedPayloads);
  await manager.streams.delete(stream);
  // The bucket as versions made it before buckets had owners.
  await manager.streams.add({
    name: stream,
    subjects: [`$O.${sharedPayloads.bucket}.C.>`, `$O.${sharedPayloads.bucket}.M.>`],
    discard: DiscardPolicy.New,
    max_age: nanos(sharedPayloads.ttlMs),
    max_bytes: 4 * 1024 ** 3,
    allow_direct: true,
    allow_rollup_hdrs: true,
  });
  const reference = await claims.put('{"text":"old"}', { subject: "yard.test", owner: null });
  assert.deepEqual((await ensureStreams(caller)).updated, [stream]);
  assert.deepEqual((await ensureStreams(caller)).updated, []);
  const { config } = await manager.streams.info(stream);
  assert.deepEqual([config.allow_rollup_hdrs, config.max_bytes], [false, 1024 ** 3]);
  const headers = headersOf({ [HEADERS.claim]: reference });
  const reply = await nc.request("yard.rpc.cli.target.echo", "", { timeout: 30_000, headers });
  assert.deepEqual(reply.json(), { ok: true, value: { text: "old" } });
});

test("small payloads stay in their message", async () => {
  const text = "x".repeat(500_000);
  assert.deepEqual(await call(caller, echo, { text }), { text });
  assert.equal(await storedChunks(), 0);
});

test("large payloads arrive whole in both directions, in any script", async () => {
  for (const text of [
    "x".repeat(524_288),
    "\u00e4\u{1F980}".repeat(400_000),
    randomBytes(3_000_000).toString("base64"),
  ]) {
    const before = await storedChunks();
    assert.deepEqual(await call(caller, echo, { text }), { text });
    assert.ok((await storedChunks()) > before);
  }
});

test("a small request may have a large reply", async () => {
  assert.deepEqual(await call(caller, echo, { text: "x", times: 2_000_000 }), {
    text: "x".repeat(2_000_000),
  });
});

test("a request beyond its contract's limits is refused: by size before it is sent or fetched, by its JSON before it is parsed", async () => {
  const { maxBytes, maxKeys } = echo.limits;
  const text = "x".repeat(maxBytes);
  const before = await storedChunks();
  await assert.rejects(call(caller, echo, { text }), { code: "payload_too_large" });
  assert.equal(await storedChunks(), before);
  const sent = async (body: string) => {
    const claim = await claims.put(body, { subject: "yard.test", owner: "cli" });
    const headers = headersOf({ [HEADERS.claim]: claim });
    const reply = await nc.request("yard.rpc.cli.target.echo", "", { timeout: 30_000, headers });
    return reply.json<{ code: string }>().code;
  };
  assert.equal(await sent(JSON.stringify({ text })), "payload_too_large");
  const keys = Array.from({ length: maxKeys + 1 }, (_, key) => [`key${key}`, "x".repeat(40)]);
  assert.equal(await sent(JSON.stringify(Object.fromEntries(keys))), "invalid_request");
  const deep = await nc.request("yard.rpc.cli.target.echo", "[".repeat(5_000), { timeout: 30_000 });
  assert.match(deep.string(), /nested deeper than/);
});

test("a reply of more than 64 MiB is payload_too_large", async () => {
  const times = MAX_PAYLOAD_BYTES / 1_000 + 1;
  await assert.rejects(call(caller, echo, { text: "x".repeat(1_000), times: Math.ceil(times) }), {
    code: "payload_too_large",
  });
});

test("bytes travel beside a request as they are, and no more of them than the contract accepts", async () => {
  const bytes = randomBytes(1_000_000);
  const parts = async function* () {
    await target.flush();
    for (let at = 0; at < bytes.length; at += 70_001) yield bytes.subarray(at, at + 70_001);
  };
  const { digest } = await call(caller, digestOfArchive, {}, { attachment: parts() });
  assert.equal(digest, digestOf(bytes));
  assert.deepEqual(await call(caller, digestOfArchive, {}), { digest: null });
  const many = [bytes, bytes, bytes];
  await assert.rejects(call(caller, digestOfArchive, {}, { attachment: many }), {
    code: "payload_too_large",
  });
  await assert.rejects(call(caller, echo, { text: "x" }, { attachment: [bytes] }), {
    code: "payload_too_large",
  });
  const attachment = await claims.putBytes(many, { subject: "yard.test", owner: "cli" });
  const headers = headersOf({ [HEADERS.attachment]: attachment });
  const reply = await nc.request("yard.rpc.cli.target.digest", "{}", { timeout: 30_000, headers });
  assert.equal(reply.json<{ code: string }>().code, "invalid_request");
});

test("a payload that was changed is not believed", async () => {
  const reference = await claims.put("the true text", { subject: "yard.test", owner: "cli" });
  const { name } = JSON.parse(reference) as { name: string }; // written by put() just now
  const overwrite = async (text: string): Promise<void> => {
    // Clients may not purge it on a server with permissions, and nothing can be replaced.
    await manager.streams.purge(bucket);
    await nc.request(`$O.${own}.C.${name}.0`, text, { timeout: 30_000 });
  };
  await overwrite("the fake text");
  await assert.rejects(claims.get(reference, "cli"), { name: "ClaimError", message: /digest/ });
  await overwrite("longer than the true text was");
  await assert.rejects(claims.get(reference, "cli"), { name: "ClaimError", message: /size/ });
});

test("a payload that is gone makes the request invalid, with a clear reason", async () => {
  const reference = await claims.put('{"text":"x"}', { subject: "yard.test", owner: "cli" });
  await manager.streams.purge(bucket);
  await assert.rejects(claims.get(reference, "cli"), {
    name: "ClaimError",
    message: /no longer stored/,
  });
  const headers = headersOf({ [HEADERS.claim]: reference });
  const reply = await nc.request("yard.rpc.cli.target.echo", "", { timeout: 30_000, headers });
  const { code, message } = reply.json<{ code: string; message: string }>();
  assert.equal(code, "invalid_request");
  assert.match(message, /no longer stored/);
});

test("a reference that leads elsewhere is refused unread", async () => {
  const good = {
    bucket: own,
    name: "0".repeat(32),
    size: 10,
    digest: `sha256:${"0".repeat(64)}`,
  };
  const bad: unknown[] = [
    { ...good, bucket: "OTHER" },
    { ...good, bucket: payloadsOf("team-b").bucket },
    { ...good, bucket: payloadsOf("runner").bucket },
    { ...good, bucket: `${own}.x` },
    { ...good, name: "../x" },
    { ...good, name: `${"0".repeat(31)}>` },
    { ...good, size: 0 },
    { ...good, size: MAX_PAYLOAD_BYTES + 1 },
    { ...good, size: "10" },
    { ...good, digest: "md5:0" },
    null,
    [],
    "x",
  ];
  const offline = new ClaimCheck(
    { request: () => assert.fail("read") } as never,
    new StoreWatch(() => 0),
    () => 1_000_000,
  ); // must not be queried
  for (const reference of bad)
    await assert.rejects(offline.get(JSON.stringify(reference), "cli"), ClaimError);
  await assert.rejects(offline.get("{", "cli"), ClaimError);
});

test("a full bucket is payload_too_large", async () => {
  await manager.streams.update(bucket, { max_bytes: 1_000_000 });
  await assert.rejects(call(caller, echo, { text: "x".repeat(2_000_000) }), {
    code: "payload_too_large",
    message: /no room/,
  });
  await ensureStreams(caller);
});
