import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { serve } from "@switchyard/bus/serve";
import { consume } from "@switchyard/bus/consume";
import type { Delivery } from "@switchyard/bus/delivery";
import { listChannelAccounts, sendChannelMessage } from "@switchyard/contracts/channels/channels";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  addServer,
  connectServer,
  getServer,
  listServers,
  removeServer,
  updateServer,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  getRun,
  listRuns,
  startRun,
  type RunSummary,
} from "@switchyard/contracts/agent-runner/runs";
import {
  deleteSession,
  getSession,
  patchSession,
} from "@switchyard/contracts/agent-runner/sessions";
import { runCommands } from "@switchyard/topology/streams";
import { hasRole, UserRole } from "@switchyard/contracts/user-roles";
import { revokeUserKey } from "@switchyard/contracts/policy/user-tokens";
import { until } from "@switchyard/local-servers/until";
import { startGatewayWorld } from "../../test/gateway-world.ts";
import { sendJson, type Sent } from "../../test/send-json.ts";
import { routes, type Route } from "../routes/route-table.ts";

const world = await startGatewayWorld(["team-a", "team-b"]);
const gateways = await Promise.all([world.startGateway(), world.startGateway()]);
const [{ url }, { url: otherUrl }] = [gateways[0] ?? assert.fail(), gateways[1] ?? assert.fail()];
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const runner = await world.connectAs("runner");
const seen: { caller: string; roles: readonly string[] }[] = [];
const runs = serve(runner, { name: "runner", version: "0.1.0", description: "", onFault });
runs.handle(listRuns, ({ limit }, { caller, roles }) => {
  seen.push({ caller, roles });
  return { runs: limit === 200 ? Array.from({ length: 200 }, (_, n) => listedRun(n)) : [] };
});
runs.handle(getRun, ({ runId }, { fail }) => {
  throw fail.unknown_run(`there is no run ${runId}`, { runId });
});

await runner.flush();

function listedRun(n: number): RunSummary {
  const at = "2026-03-01T00:00:00.000Z";
  const facts = { steps: 1, toolCalls: 0, attempts: 1, labels: {}, createdAt: at, updatedAt: at };
  const names = { agent: "reviewer", requester: "team-a", model: "p/m" };
  return { runId: `team-a~r${n}`, ...names, ...facts, status: "succeeded" };
}

const send = (path: string, sent: Partial<Sent> = {}) => sendJson(path, { at: url, ...sent });

const pathOf = ({ path }: Route): string => path.replaceAll(/\{\w+\}/g, "key-0123456789abcdef");

test("all routes, all roles: nothing without a credential, and every caller exactly what the role of the contract lets it", async () => {
  const keys = await Promise.all(
    UserRole.options.map(async (role) => ({
      role,
      key: (await world.keyOf(`all-${role}`, [role])).key,
    })),
  );
  for (const route of routes) {
    const { contract, method } = route;
    const needed = contract.role ?? assert.fail(contract.name);
    const sent = {
      method: method.toUpperCase(),
      ...(method === "post" || method === "put" || method === "patch" ? { body: [] } : {}),
    };
    const path = pathOf(route);
    assert.equal((await send(path, sent)).status, 401, `${method} ${path}`);
    for (const { role, key } of keys) {
      const { status, json } = await send(path, { ...sent, key });
      const what = `${role} ${method} ${path}: ${status} ${JSON.stringify(json)}`;
      if (hasRole([role], needed)) assert.ok(status !== 401 && json["code"] !== "forbidden", what);
      else assert.deepEqual([status, json["code"]], [403, "forbidden"], what);
      assert.notEqual(status, 500, what);
    }
  }
});

test("a request is its caller's, with problem details, its id and safe headers", async () => {
  const { key } = await world.keyOf("alice", ["viewer"]);
  const { status, headers } = await send("/runs?limit=3", {
    key,
    headers: { "x-request-id": "req-1" },
  });
  assert.equal(status, 200);
  assert.deepEqual(seen.at(-1), { caller: "alice", roles: ["viewer"] });
  assert.equal(headers.get("x-request-id"), "req-1");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("access-control-allow-origin"), null);
  assert.ok(Number(headers.get("ratelimit-remaining")) > 0);
  const bad = await send("/runs?limit=many&color=red", { key });
  assert.equal(bad.headers.get("content-type"), "application/problem+json");
  assert.deepEqual([bad.status, bad.json["code"]], [400, "invalid_request"]);
  assert.match(String(bad.json["detail"]), /color: is unknown/);
  assert.match(String(bad.json["detail"]), /limit: must be a number/);
  assert.ok(bad.json["next"] !== undefined && bad.json["requestId"] !== undefined);
  const unknown = await send("/runs/nope", { key });
  assert.deepEqual(
    [unknown.status, unknown.json["code"], unknown.json["data"]],
    [404, "unknown_run", { runId: "nope" }],
  );
  assert.deepEqual((await send("/me", { key })).json["roles"], ["viewer"]);
});

test("a run that is started over HTTP is the same caller's run as over NATS, and once for one Idempotency-Key", async () => {
  const deliveries = new Map<number, Delivery>();
  const consumption = consume(runner, {
    consumer: runCommands,
    commands: [startRun],
    concurrency: 4,
    handle: (delivery) => {
      deliveries.set(delivery.streamSequence, delivery);
      return Promise.resolve({ outcome: "done" });
    },
    onFault,
  });
  const { key } = await world.keyOf("team-a", ["operator"]);
  const start = (idempotencyKey: string, { input = "hello", at = url } = {}) =>
    send("/runs", {
      method: "POST",
      key,
      body: { agent: "demo", input },
      headers: { "idempotency-key": idempotencyKey },
      at,
    });
  const first = await start("one");
  const again = await start("one", { at: otherUrl });
  const other = await start("two");
  assert.equal(first.status, 202);
  assert.match(String(first.json["runId"]), /^team-a~i[0-9a-f]{40}$/);
  assert.equal(first.headers.get("location"), `/api/v1/runs/${String(first.json["runId"])}`);
  assert.deepEqual([again.status, again.json], [202, first.json]);
  const changed = await start("one", { input: "something else", at: otherUrl });
  assert.deepEqual([changed.status, changed.json["code"]], [422, "idempotency_key_reused"]);
  const { key: ofAnother } = await world.keyOf("team-b", ["operator"]);
  const body = { agent: "demo", input: "x" };
  const headers = { "idempotency-key": "one" };
  const foreign = await send("/runs", { method: "POST", key: ofAnother, body, headers });
  assert.equal(foreign.status, 202);
  assert.notEqual(other.json["runId"], first.json["runId"]);
  await until(() => Promise.resolve(deliveries.size === 3));
  assert.deepEqual(
    [...deliveries.values()].map(({ kind, caller }) => `${kind} ${caller}`).toSorted(),
    ["command team-a", "command team-a", "command team-b"],
  );
  await consumption.stop();
});

test("the servers' routes answer as the seed's clients know them [AR12, CR7]", async () => {
  const broker = await world.connectAs("broker");
  const service = serve(broker, { name: "broker", version: "0.1.0", description: "", onFault });
  service.handle(listServers, () => ({ servers: [] }));
  const fail = failuresOf({ ...connectServer.errors, ...addServer.errors });
  service.handle(connectServer, ({ server }) => {
    if (server === "gone") throw fail.unknown_server("MCP server not found: gone", { server });
    throw fail.owner_unavailable("the broker that has it does not answer", {
      server,
      retryAfterMs: 1,
    });
  });
  service.handle(addServer, () => {
    throw fail.invalid_config("transport is missing", { problems: ["transport is missing"] });
  });
  await broker.flush();
  const { key } = await world.keyOf("boss", ["admin"]);
  const post = (path: string, body?: unknown) => send(path, { method: "POST", key, body });
  assert.equal((await send("/mcp/servers", { key })).status, 200);
  const missing = await post("/mcp/servers");
  assert.deepEqual([missing.status, missing.json["code"]], [400, "INVALID_INPUT"]);
  assert.match(String(missing.json["detail"]), /^id, name, and transport are required/);
  const gone = await post("/mcp/servers/gone/connect");
  assert.deepEqual(
    [gone.status, gone.json["code"], gone.json["detail"]],
    [404, "NOT_FOUND", "MCP server not found: gone"],
  );
  assert.match(String(gone.json["next"]), /^GET \/api\/v1\/mcp\/servers lists the MCP servers/);
  const away = await post("/mcp/servers/files/connect");
  assert.deepEqual([away.status, away.json["code"]], [500, "CONNECTION_ERROR"]);
  await service.drain();
});

test("a message of a channel is sent as its caller, once for one Idempotency-Key, and never for another caller", async () => {
  const bus = await world.connectAs("channels");
  const service = serve(bus, { name: "channels", version: "0.1.0", description: "", onFault });
  const asked: { caller: string; keyed: string | undefined; onBehalfOf: string | undefined }[] = [];
  service.handle(listChannelAccounts, () => ({ accounts: [], problems: [] }));
  service.handle(sendChannelMessage, ({ to, idempotencyKey, onBehalfOf }, { caller, fail }) => {
    asked.push({ caller, keyed: idempotencyKey, onBehalfOf });
    const where = { channel: to.channel, accountId: null };
    throw fail.rate_limited("too many messages", { ...where, retryAfterMs: 2_500 });
  });
  await bus.flush();
  const { key } = await world.keyOf("frida", ["operator"]);
  const to = { channel: "loopback", target: { kind: "user", id: "ann" } };
  const message = (body: object) =>
    send("/channels/messages", {
      method: "POST",
      key,
      body: { to, text: "Dinner is ready.", ...body },
      headers: { "idempotency-key": "dinner" },
    });
  const [first, again] = [await message({}), await message({})];
  assert.deepEqual(
    [first.status, first.json["code"], first.headers.get("retry-after")],
    [429, "rate_limited", "3"],
  );
  assert.equal(again.status, 429);
  assert.match(String(asked[0]?.keyed), /^i[0-9a-f]{40}$/);
  assert.deepEqual(asked[1], asked[0]);
  assert.equal(asked[0]?.caller, "frida");
  const foreign = await message({ onBehalfOf: "alice" });
  assert.deepEqual([foreign.status, foreign.json["code"]], [400, "invalid_request"]);
  assert.match(String(foreign.json["detail"]), /onBehalfOf: is unknown/);
  assert.equal(asked.length, 2);
  assert.equal((await send("/channels/accounts?channel=loopback", { key })).status, 200);
  await service.drain();
});

test("a revoked key is refused at once on every replica, and another gateway's clients are not", async () => {
  const [gone, stays] = [
    await world.keyOf("carol", ["viewer"]),
    await world.keyOf("carol", ["viewer"]),
  ];
  const status = async (at: string, { key }: { key: string }) =>
    (await send("/runs", { key, at })).status;
  assert.deepEqual([await status(url, gone), await status(otherUrl, gone)], [200, 200]);
  await call(await world.connectAs("cli"), revokeUserKey, { id: gone.id });
  await until(
    async () => (await status(url, gone)) === 401 && (await status(otherUrl, gone)) === 401,
  );
  assert.deepEqual([await status(url, stays), await status(otherUrl, stays)], [200, 200]);
});

test("a scope narrows what the role allows", async () => {
  const { key } = await world.keyOf("dora", ["viewer"], ["models.*"]);
  const { status, json } = await send("/runs", { key });
  assert.equal(status, 403);
  assert.match(String(json["detail"]), /outside the scopes/);
});

test("a key that may read single runs follows these, and not all events of its caller", async () => {
  const statusOf = async (path: string, key: string) => {
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${key}` };
    const { status } = await fetch(`${url}/api/v1${path}`, { headers, signal: leaving.signal });
    leaving.abort();
    return status;
  };
  const { key: ofRuns } = await world.keyOf("dora", ["viewer"], ["runs.get"]);
  assert.equal(await statusOf("/runs/one/events", ofRuns), 200);
  for (const path of ["/events", "/events?noun=run&id=one"])
    assert.equal(await statusOf(path, ofRuns), 403, path);
  const { key: ofEvents } = await world.keyOf("dora", ["viewer"], ["events.*"]);
  assert.equal(await statusOf("/events", ofEvents), 200);
  assert.equal(await statusOf("/runs/one/events", ofEvents), 403);
});

test("requests beyond the limit, guessed credentials, foreign hosts and origins are refused", async () => {
  const { url: at } = await world.startGateway({ YARD_HTTP_REQUESTS_PER_MINUTE: "3" });
  const { key } = await world.keyOf("erin", ["viewer"]);
  const statuses: number[] = [];
  for (let n = 0; n < 4; n += 1) statuses.push((await send("/runs", { key, at })).status);
  assert.deepEqual(statuses, [200, 200, 200, 429]);
  const over = await send("/runs", { key, at });
  assert.ok(Number(over.headers.get("retry-after")) > 0);
  const foreign = await send("/runs", { key, headers: { origin: "https://evil.example" } });
  assert.equal(foreign.json["code"], "foreign_origin");
  assert.match(String(foreign.json["next"]), /YARD_HTTP_HOSTS/);
  assert.equal((await send("/runs", { key, headers: { origin: "null" } })).status, 403);
  assert.equal(await statusWithHost("evil.example"), 403);
  const { host } = new URL(url);
  assert.match(await raw(`GET /api/v1/me HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}`), / 400 /);
  assert.match(await raw(`GET http://evil.example/api/v1/me HTTP/1.1\r\nHost: ${host}`), / 400 /);
  assert.match(await raw(`GET http://${host}/api/v1/me HTTP/1.1\r\nHost: ${host}`), / 401 /);
  const guessed = await Promise.all(
    Array.from({ length: 40 }, () => send("/runs", { key: "yk_guess", at })),
  );
  assert.deepEqual(new Set(guessed.map(({ status }) => status)), new Set([401, 429]));
});

/** Resolves with the first line of the answer to a request whose head is sent unchanged. */
async function raw(head: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`${head}\r\nConnection: close\r\n\r\n`);
  return (await text(socket)).split("\r\n")[0] ?? "";
}

/** `fetch` does not let a test set the header `Host`. */
function statusWithHost(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}/api/v1/me`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject).end();
  });
}

test("a body that is too long, too deep, of another type or no JSON is refused", async () => {
  const { key } = await world.keyOf("fred", ["operator"]);
  const post = (body: string, headers: Record<string, string> = {}) =>
    send("/runs", { method: "POST", key, body, headers });
  const codeOf = async (answer: ReturnType<typeof post>) => {
    const { status, json } = await answer;
    return `${status} ${String(json["code"])}`;
  };
  assert.equal(await codeOf(post("{")), "400 malformed_json");
  assert.equal(await codeOf(post("[".repeat(100) + "]".repeat(100))), "400 json_too_complex");
  assert.equal(
    await codeOf(post("{}", { "content-type": "text/plain" })),
    "415 unsupported_media_type",
  );
  assert.equal(
    await codeOf(post(JSON.stringify({ input: "x".repeat(1_100_000) }))),
    "413 payload_too_large",
  );
  for (const path of ["/runs/..%2f..%2fkeys", "/runs/%252e%252e", "/runs/a%00b", "/../../etc"])
    assert.ok([400, 404].includes((await send(path, { key })).status), path);
});

test("a long answer is compressed for a client that accepts it, under an ETag of its own", async () => {
  const { key } = await world.keyOf("reads-lists", ["viewer"]);
  const get = (headers: Record<string, string>) =>
    fetch(`${url}/api/v1/runs?limit=200`, {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
  const plain = await get({ "accept-encoding": "identity" });
  const whole = await plain.text();
  assert.equal(plain.headers.get("content-encoding"), null);
  const packed = await get({ "accept-encoding": "gzip" });
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  assert.match(packed.headers.get("vary") ?? "", /accept-encoding/);
  assert.ok(Number(packed.headers.get("content-length")) * 8 < whole.length);
  assert.equal(await packed.text(), whole);
  const tag = packed.headers.get("etag") ?? assert.fail("no ETag");
  assert.notEqual(tag, plain.headers.get("etag"));
  assert.equal((await get({ "accept-encoding": "gzip", "if-none-match": tag })).status, 304);
});

test("a session and an MCP server have an ETag, and a change for another version is 412", async () => {
  const { key } = await world.keyOf("vera", ["admin", "operator"]);
  const refusal = (asked: string | undefined) => asked !== undefined && asked !== "v1";
  const data = { version: "v1" };
  const at = new Date().toISOString();
  const session = {
    sessionId: `ses-${"0".repeat(26)}-a`,
    key: "talk",
    owner: "vera",
    kind: "other" as const,
    label: null,
    agent: "demo",
    model: null,
    skillsOff: [],
    onBusy: "enqueue" as const,
    version: "v1",
    createdAt: at,
    updatedAt: at,
    endsAt: at,
    messages: 0,
    droppedMessages: 0,
    bytes: 0,
    activeRun: null,
    queued: 0,
    lastRun: null,
    totalTokens: 0,
  };
  runs.handle(getSession, () => ({ session }));
  runs.handle(patchSession, ({ ifVersion }, { fail }) => {
    if (refusal(ifVersion)) throw fail.version_changed("it is at another version", data);
    return { session };
  });
  runs.handle(deleteSession, ({ ifVersion }, { fail }) => {
    if (refusal(ifVersion)) throw fail.version_changed("it is at another version", data);
    const { sessionId, key: sessionKey } = session;
    return { sessionId, sessionKey, cancelledRun: null, droppedRuns: [] };
  });
  const broker = await world.connectAs("broker");
  const service = serve(broker, { name: "broker", version: "0.1.0", description: "", onFault });
  const info = {
    id: "disk",
    name: "Disk",
    origin: "api" as const,
    transport: "stdio" as const,
    status: "connected" as const,
    toolCount: 0,
    serverVersion: null,
    protocolVersion: null,
    lastError: null,
    connectedAt: null,
  };
  const there = { server: info, version: "v1" };
  service.handle(getServer, () => ({ ...there, declaration: {}, updatedAt: null }));
  service.handle(updateServer, ({ ifVersion }, { fail }) => {
    if (refusal(ifVersion)) throw fail.version_changed("it is at another version", data);
    return there;
  });
  service.handle(removeServer, ({ server, ifVersion }, { fail }) => {
    if (refusal(ifVersion)) throw fail.version_changed("it is at another version", data);
    return { removed: true as const, server };
  });
  await Promise.all([broker.flush(), runner.flush()]);
  for (const path of ["/sessions/talk", "/mcp/servers/disk"]) {
    const etag = (await send(path, { key })).headers.get("etag") ?? "";
    assert.match(etag, /^"v1\./, path);
    const change = (ifMatch: string) =>
      send(path, { method: "PATCH", key, body: {}, headers: { "if-match": ifMatch } });
    const made = await change(etag);
    assert.deepEqual([made.status, made.headers.get("etag")], [200, '"v1"']);
    const late = await change('"v0"');
    assert.deepEqual([late.status, late.json["code"]], [412, "version_changed"], path);
    assert.deepEqual(late.json["data"], data);
    const remove = (ifMatch: string) =>
      send(path, { method: "DELETE", key, headers: { "if-match": ifMatch } });
    assert.deepEqual(
      [(await remove('"v0"')).status, (await remove(etag)).status],
      [412, 200],
      path,
    );
  }
  await service.drain();
});

test("of two callers who change the same version one is refused because the version has changed, and an unchanged answer is not sent again", async () => {
  const { key } = await world.keyOf("cli", ["admin"]);
  const first = await send("/policy/versions", { key });
  const etag = first.headers.get("etag") ?? assert.fail("no ETag");
  const known = await send("/policy/versions", { key, headers: { "if-none-match": etag } });
  assert.deepEqual([known.status, known.json, known.headers.get("etag")], [304, null, etag]);

  const rules = (id: string) => `version: 1\nrules:\n  - { id: ${id}, effect: allow }\n`;
  const activate = (id: string, ifMatch: string) =>
    send("/policy/activate", {
      method: "POST",
      key,
      body: { files: [{ name: "rules.yaml", text: rules(id) }] },
      headers: { "if-match": ifMatch },
    });
  const both = await Promise.all([activate("one", etag), activate("other", etag)]);
  // The second is checked after the first, or refused while that is checked.
  assert.equal(both.filter(({ status }) => status === 200).length, 1);
  const late = await activate("late", etag);
  assert.deepEqual([late.status, late.json["code"]], [412, "version_changed"]);
  assert.match(String(late.json["next"]), /If-Match/);

  const now = await send("/policy/versions", { key, headers: { "if-none-match": etag } });
  assert.equal(now.status, 200);
  const [{ version = 0 } = {}] = now.json["versions"] as { version?: number }[];
  assert.deepEqual(late.json["data"], { version: String(version) });
  const again = await activate("again", now.headers.get("etag") ?? "");
  assert.deepEqual([again.status, again.headers.get("etag")], [200, `"${version + 1}"`]);

  const weak = await activate("weak", `W/${etag}`);
  assert.deepEqual([weak.status, weak.json["code"]], [400, "invalid_request"]);
  const without = await send("/policy/stops", {
    method: "POST",
    key,
    body: { scope: { kind: "all" } },
    headers: { "if-match": etag },
  });
  assert.equal(without.status, 400);
  assert.match(String(without.json["detail"]), /has no versions/);
});
