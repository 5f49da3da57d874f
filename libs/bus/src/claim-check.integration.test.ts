import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { rpc } from "@switchyard/contracts/define";
import { HEADERS } from "@switchyard/contracts/headers";
import { payloadStore } from "@switchyard/contracts/streams";
import { testNats } from "@switchyard/local-servers/test-servers";
import { z } from "zod";
import { call } from "./call.ts";
import { StoreWatch } from "./store-watch.ts";
import { ClaimCheck, ClaimError, MAX_PAYLOAD_BYTES } from "./claim-check.ts";
import { connectionOf } from "./connection.ts";
import { headersOf } from "./message-headers.ts";
import { serve } from "./serve.ts";
import { ensureStreams } from "./streams.ts";
import { testBus } from "./test-bus.ts";

const echo = rpc({
  subject: "yard.rpc.{caller}.target.echo",
  summary: "Sends a text back.",
  request: z.strictObject({ text: z.string(), times: z.int().default(1) }),
  reply: z.object({ text: z.string() }),
  timeoutMs: 60_000,
});

const nats = await testNats();
const caller = await testBus(nats, "cli");
const target = await testBus(nats, "target");
const { claims, nc } = connectionOf(caller);
const bucket = `OBJ_${payloadStore.bucket}`;
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
await target.flush();

async function storedChunks(): Promise<number> {
  const { state } = await manager.streams.info(bucket);
  return state.messages;
}

test("a missing bucket is told with the command that makes it", () => {
  assert.match(String(missing), /yard streams ensure/);
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

test("more than 64 MiB is payload_too_large, for requests and for replies", async () => {
  const text = "x".repeat(MAX_PAYLOAD_BYTES);
  await assert.rejects(call(caller, echo, { text }), {
    code: "payload_too_large",
    message: /67108864/,
  });
  await assert.rejects(call(caller, echo, { text: "x".repeat(1_000), times: 67_200 }), {
    code: "payload_too_large",
  });
});

test("a payload that was changed is not believed", async () => {
  const reference = await claims.put("the true text", "yard.test");
  const { name } = JSON.parse(reference) as { name: string }; // written by put() just now
  await nc.request(`$O.${payloadStore.bucket}.C.${name}.0`, "the fake text", { timeout: 5_000 });
  await assert.rejects(claims.get(reference), { name: "ClaimError", message: /digest/ });
  await nc.request(`$O.${payloadStore.bucket}.C.${name}.0`, "longer than the true text was", {
    timeout: 5_000,
  });
  await assert.rejects(claims.get(reference), { name: "ClaimError", message: /size/ });
});

test("a payload that is gone makes the request invalid, with a clear reason", async () => {
  const reference = await claims.put('{"text":"x"}', "yard.test");
  await manager.streams.purge(bucket);
  await assert.rejects(claims.get(reference), { name: "ClaimError", message: /no longer stored/ });
  const headers = headersOf({ [HEADERS.claim]: reference });
  const reply = await nc.request("yard.rpc.cli.target.echo", "", { timeout: 30_000, headers });
  const { code, message } = reply.json<{ code: string; message: string }>();
  assert.equal(code, "invalid_request");
  assert.match(message, /no longer stored/);
});

test("a reference that leads elsewhere is refused unread", async () => {
  const good = {
    bucket: payloadStore.bucket,
    name: "0".repeat(32),
    size: 10,
    digest: `sha256:${"0".repeat(64)}`,
  };
  const bad: unknown[] = [
    { ...good, bucket: "OTHER" },
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
  ); // must not be asked
  for (const reference of bad)
    await assert.rejects(offline.get(JSON.stringify(reference)), ClaimError);
  await assert.rejects(offline.get("{"), ClaimError);
});

test("a full bucket is payload_too_large", async () => {
  await manager.streams.update(bucket, { max_bytes: 1_000_000 });
  await assert.rejects(call(caller, echo, { text: "x".repeat(2_000_000) }), {
    code: "payload_too_large",
    message: /no room/,
  });
  await ensureStreams(caller);
});
