import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { sessionWorld, startProgram } from "../../test-fixtures/session-world.ts";
import {
  legacyAnswer,
  modernAnswer,
  switchableServer,
} from "../../test-fixtures/switchable-server.ts";
import { fixture } from "../../test-fixtures/test-broker.ts";
import { twoEraServer } from "../../test-fixtures/two-era-server.ts";

const world = await sessionWorld();

/** The methods that a connection called at a server. */
async function askedBy(
  server: { url: string; asked: string[] },
  declaration: { id: string; headers?: object; connectTimeoutMs?: number },
  options: Parameters<typeof world.open>[1] = {},
) {
  server.asked.length = 0;
  const session = await world.open({ url: server.url, ...declaration }, options);
  await session.close();
  return { version: session.protocolVersion, asked: [...server.asked] };
}

const hasProbe = ({ asked }: { asked: string[] }): boolean => asked.includes("server/discover");

test("a reconnect to a 2026-07-28 server sends no probe, and no handshake [A5]", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = modernAnswer(server.asked);
  const first = await askedBy(server, { id: "modern" });
  assert.equal(first.version, "2026-07-28");
  assert.ok(hasProbe(first));
  const second = await askedBy(server, { id: "modern" });
  assert.equal(second.version, "2026-07-28");
  assert.ok(!hasProbe(second) && !second.asked.includes("initialize"));
  assert.ok(second.asked.includes("tools/list"));
});

test("a server that answers the probe or the handshake with 202 alone fails at once with an error that names it", async () => {
  for (const toProbe of [202, 400]) {
    const server = await switchableServer((request, response) => {
      const isProbe = request.headers["mcp-protocol-version"] === "2026-07-28";
      return response.writeHead(isProbe ? toProbe : 202).end();
    });
    await assert.rejects(
      askedBy(server, { id: `accepts-${toProbe}`, connectTimeoutMs: 600_000 }),
      /the server answered HTTP 202 without an answer to the request/,
    );
  }
});

test("a reconnect to an older server sends no probe, for a day [A5]", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = legacyAnswer(server.asked);
  assert.ok(hasProbe(await askedBy(server, { id: "legacy" })));
  const second = await askedBy(server, { id: "legacy" });
  assert.equal(second.version, "2025-06-18");
  assert.ok(!hasProbe(second) && second.asked.includes("initialize"));
  const tomorrow = Date.now() + 25 * 3_600_000;
  assert.ok(hasProbe(await askedBy(server, { id: "legacy" }, { now: () => tomorrow })));
});

test("a verdict that proves wrong is corrected in the same attempt, both ways", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = modernAnswer(server.asked);
  await askedBy(server, { id: "stale" });
  server.answer = legacyAnswer(server.asked);
  assert.equal((await askedBy(server, { id: "stale" })).version, "2025-06-18");
  assert.ok(!hasProbe(await askedBy(server, { id: "stale" })));
  const refuseOld = modernAnswer(server.asked);
  server.answer = (request, response) =>
    request.headers["mcp-protocol-version"] === "2026-07-28"
      ? refuseOld(request, response)
      : response.writeHead(400).end();
  assert.equal((await askedBy(server, { id: "stale" })).version, "2026-07-28");
});

test("a step back is remembered longer than a day, and is none where the entry names the revision", async () => {
  const server = await twoEraServer();
  const declaration = { id: "old-questions", url: server.url };
  const first = await world.open(declaration);
  assert.equal(first.protocolVersion, "2026-07-28");
  await first.stepBack?.();
  const later = () => Date.now() + 25 * 3_600_000;
  const second = await askedBy(server, declaration, { now: later });
  assert.equal(second.version, "2025-11-25");
  assert.ok(!hasProbe(second));
  const pinned = await world.open({ ...declaration, protocolVersion: "2026-07-28" });
  assert.deepEqual([pinned.protocolVersion, pinned.stepBack], ["2026-07-28", null]);
});

test("other credentials and another address probe anew, and Redis stores no credential", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = modernAnswer(server.asked);
  const as = (key: string) => askedBy(server, { id: "keyed", headers: { "X-Key": key } });
  assert.ok(hasProbe(await as("canary-one")));
  assert.ok(!hasProbe(await as("canary-one")));
  assert.ok(hasProbe(await as("canary-two")));
  const kept = await world.redis.get("yard:{mcp}:era:keyed");
  assert.ok(kept !== null && !kept.includes("canary"));
  assert.match(kept, /"context":"hmac-sha256:[0-9a-f]{64}"/);
  // Without the key it is impossible to test whether a guessed credential is the right one.
  const otherKey = { digestKey: "another key" };
  const declared = { id: "keyed", headers: { "X-Key": "canary-two" } };
  assert.ok(hasProbe(await askedBy(server, declared, otherKey)));
  assert.ok(!hasProbe(await askedBy(server, declared, otherKey)));
  const moved = await world.open({ id: "keyed", url: `${server.url}?moved` });
  assert.ok(server.asked.includes("server/discover"));
  await moved.close();
});

test("a server that is down does not invalidate its cached verdict", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = modernAnswer(server.asked);
  await askedBy(server, { id: "down" });
  server.answer = (_, response) => response.writeHead(503).end();
  await assert.rejects(askedBy(server, { id: "down" }), /503|Service Unavailable|Error POSTing/);
  server.answer = modernAnswer(server.asked);
  assert.ok(!hasProbe(await askedBy(server, { id: "down" })));
});

test("a server that fails at the question for 2026-07-28 is connected with initialize [A5]", async () => {
  const failures = {
    "with 500": (response: ServerResponse) => response.writeHead(500).end("no such method"),
    "with 501": (response: ServerResponse) => response.writeHead(501).end(),
    "by hanging up": (response: ServerResponse) => response.destroy(),
    "by not answering": () => undefined,
  };
  for (const [how, fail] of Object.entries(failures)) {
    const server = await switchableServer(() => undefined);
    const legacy = legacyAnswer(server.asked);
    server.answer = (request, response) => {
      if (request.headers["mcp-protocol-version"] !== "2026-07-28")
        return legacy(request, response);
      server.asked.push("server/discover");
      return fail(response);
    };
    const id = how.replaceAll(" ", "-");
    const { version, asked } = await askedBy(server, { id, connectTimeoutMs: 6_000 });
    assert.equal(version, "2025-06-18", how);
    assert.ok(asked.includes("server/discover"), how);
    assert.ok(!hasProbe(await askedBy(server, { id, connectTimeoutMs: 6_000 })), how);
  }
});

test("a server that became an older one which fails at everything newer is connected anew", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = modernAnswer(server.asked);
  await askedBy(server, { id: "downgraded" });
  const legacy = legacyAnswer(server.asked);
  server.answer = (request, response) =>
    request.headers["mcp-protocol-version"] === "2026-07-28"
      ? response.writeHead(500).end("not initialized")
      : legacy(request, response);
  assert.equal((await askedBy(server, { id: "downgraded" })).version, "2025-06-18");
});

test("the text of a server's refusal is in the reason", async () => {
  for (const status of [403, 500]) {
    const server = await switchableServer((_, response) =>
      response.writeHead(status).end(`{"error":"the plan of this workspace has ended"}`),
    );
    await assert.rejects(world.open({ id: `says-${status}`, url: server.url }), (error: Error) => {
      assert.match(error.message, /the plan of this workspace has ended/);
      assert.match(error.message, new RegExp(String(status)));
      return true;
    });
  }
});

test("http falls back to SSE exactly at 400, 404 and 405, and remembers it [A5, C3, X3]", async () => {
  const sse = await startProgram([fixture("v1-server.ts"), "sse"]);
  const first = await world.open({ id: "fallback", url: sse.url("/sse") });
  assert.deepEqual(
    first.tools.map(({ name }) => name),
    ["echo", "count_to"],
  );
  await first.close();
  const kept = await world.redis.get("yard:{mcp}:era:fallback");
  assert.match(kept ?? "", /"transport":"sse"/);
  for (const status of [400, 404, 405, 403, 406, 500]) {
    const gets: string[] = [];
    const server = await switchableServer((request, response) => {
      if (request.method === "GET") gets.push(request.url ?? "");
      response.writeHead(status).end();
    });
    await assert.rejects(world.open({ id: `status-${status}`, url: server.url }));
    assert.equal(gets.length > 0, [400, 404, 405].includes(status), String(status));
  }
});

test("a result that the SDK refuses reaches the caller with each transport and protocol: the tool has run", async () => {
  const callResult = {
    content: [
      { type: "text", text: "done", annotations: null, _meta: null },
      { type: "image", data: "aGk=" },
      { type: "hologram", at: 3 },
      { type: "text" },
    ],
    isError: null,
  };
  const line = JSON.stringify({ jsonrpc: "2.0", id: "$id", result: callResult });
  const parrot = (...args: string[]) => ({
    command: process.execPath,
    args: [fixture("parrot-server.ts"), ...args],
    lines: [line.replace('"$id"', "$id")],
  });
  const [newer, older] = [await switchableServer(() => {}), await switchableServer(() => {})];
  newer.answer = modernAnswer(newer.asked, { callResult });
  older.answer = legacyAnswer(older.asked, callResult);
  for (const [id, { lines = [], ...declared }, version] of [
    ["stdio-2025", parrot(), "2025-06-18"],
    ["stdio-2026", parrot("modern"), "2026-07-28"],
    ["http-2025", { url: older.url }, "2025-06-18"],
    ["http-2026", { url: newer.url }, "2026-07-28"],
  ] as [string, { lines?: string[] }, string][]) {
    const session = await world.open({ id, ...declared });
    assert.equal(session.protocolVersion, version, id);
    const tool = session.tools[0]?.name ?? "";
    const signal = new AbortController().signal;
    const call = { tool, args: { lines }, timeoutMs: 10_000, signal };
    const { content, isError } = await session.callTool(call);
    assert.deepEqual(
      [content, isError],
      [
        [
          { type: "text", text: "done" },
          { type: "image", data: "aGk=", mimeType: "application/octet-stream" },
          { type: "hologram", at: 3 },
          { type: "text", text: '{"type":"text"}' },
        ],
        false,
      ],
      id,
    );
    await session.callTool(call);
    // Reported once for the connection, and not for each call.
    const about = session.troubles.filter((trouble) => trouble.includes("/content/0/annotations"));
    assert.equal(about.length, 1, id);
    await session.close();
  }
});
