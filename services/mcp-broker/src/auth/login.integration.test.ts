import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { beginLogin, finishLogin, logout } from "@switchyard/contracts/mcp-broker/mcp-auth";
import { until } from "@switchyard/local-servers/until";
import { oauthWorld, type OddAuthorization } from "../../test-fixtures/oauth-world.ts";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { Redis } from "@switchyard/service/redis";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const [world, oauth] = await Promise.all([testWorld(), oauthWorld()]);
const redirectUri = "http://127.0.0.1:4711/callback";

function locked(id: string, more: object = {}): object {
  return { id, url: oauth.url, headers: { "X-Key": "canary-header" }, ...more };
}

async function answerFor(server: string) {
  const begun = await call(world.cli, beginLogin, { server, redirectUri });
  const back = (await oauth.agree(begun.authorizationUrl)).searchParams;
  const [state, code, iss] = ["state", "code", "iss"].map((name) => back.get(name) ?? "");
  return { server, state: state ?? "", code: code ?? "", iss: iss ?? "" };
}

async function logIn(server: string): Promise<void> {
  const reply = await call(world.cli, finishLogin, await answerFor(server));
  assert.equal(reply.server.status, "connected", reply.server.lastError ?? "");
}

const newKey = (): string => randomBytes(32).toString("base64");

/** Everything that Redis holds, as text. */
async function redisText(): Promise<string> {
  const keys = await world.redis.keys("*");
  const values = await Promise.all(
    keys.map(async (key) =>
      (await world.redis.type(key)) === "string"
        ? world.redis.get(key)
        : JSON.stringify(await world.redis.hgetall(key).catch(() => null)),
    ),
  );
  return [...keys, ...values].join("\n");
}

test("a server that requires a login reports it, and a login connects it and leaves no secret anywhere", async () => {
  const broker = await world.startBroker({ servers: [locked("first")] });
  const { lastError } = await broker.until("first", ({ status }) => status === "error");
  assert.match(lastError ?? "", /needs login: run yard mcp login first/);
  await logIn("first");
  assert.equal((await broker.call("first", { tool: "echo", args: { message: "in" } })).text, "in");

  const seen = `${broker.logText()}\n${await redisText()}\n${JSON.stringify(broker.info("first"))}`;
  assert.ok(oauth.secrets.length > 4);
  assert.deepEqual(
    oauth.secrets.filter((secret) => seen.includes(secret)),
    [],
  );
  // The server's own header stays with the server.
  assert.ok(oauth.authHeaders.every((headers) => headers["x-key"] === undefined));

  const out = await call(world.cli, logout, { server: "first" });
  assert.equal(out.wasLoggedIn, true);
  await broker.until("first", ({ status }) => status === "error");
  await broker.stop();
});

test("after the key was replaced one can log in again, without a logout before", async () => {
  const servers = [locked("rekeyed")];
  const before = await world.startBroker({ servers });
  await before.until("rekeyed", ({ status }) => status === "error");
  await logIn("rekeyed");
  await before.stop();

  const broker = await world.startBroker({ servers, tokenKeys: newKey() });
  const { lastError } = await broker.until("rekeyed", (info) => info.lastError !== null);
  assert.match(lastError ?? "", /mcp-logins\.key does not have; .* log in again/);
  await logIn("rekeyed");
  const { text } = await broker.call("rekeyed", { tool: "echo", args: { message: "in" } });
  assert.equal(text, "in");
  await call(world.cli, logout, { server: "rekeyed" });
  await broker.stop();
});

test("a logout revokes both tokens where the authorization server allows it, and reports where it does not", async () => {
  const broker = await world.startBroker({ servers: [locked("left")] });
  const logOut = async () => {
    const { wasLoggedIn, revocation } = await call(world.cli, logout, { server: "left" });
    const { lastError } = await broker.until("left", ({ status }) => status === "error");
    assert.match(lastError ?? "", /needs login/);
    return { wasLoggedIn, revocation };
  };
  await logIn("left");
  oauth.revoked.length = 0;
  assert.deepEqual(await logOut(), { wasLoggedIn: true, revocation: "revoked" });
  assert.deepEqual(oauth.revoked, [
    { hint: "refresh_token", wasGood: true },
    { hint: "access_token", wasGood: true },
  ]);
  assert.deepEqual(await logOut(), { wasLoggedIn: false, revocation: null });

  await logIn("left");
  oauth.revocation = "refuses";
  assert.deepEqual(await logOut(), { wasLoggedIn: true, revocation: "failed" });
  oauth.revocation = "none";
  await logIn("left");
  assert.deepEqual(await logOut(), { wasLoggedIn: true, revocation: "not_offered" });
  oauth.revocation = "takes";
  assert.equal(oauth.revoked.length, 2);
  assert.deepEqual(
    oauth.secrets.filter((secret) => broker.logText().includes(secret)),
    [],
  );
  await broker.stop();
});

test("a logout forgets a login that no key opens any more", async () => {
  const before = await world.startBroker({ servers: [locked("rekeyed")] });
  await logIn("rekeyed");
  await before.stop();
  const broker = await world.startBroker({ servers: [locked("rekeyed")], tokenKeys: newKey() });
  await broker.until("rekeyed", ({ status }) => status === "error");
  const { wasLoggedIn, revocation } = await call(world.cli, logout, { server: "rekeyed" });
  assert.deepEqual({ wasLoggedIn, revocation }, { wasLoggedIn: true, revocation: "failed" });
  await broker.stop();
});

test("a call whose login cannot be read fails as not sent, with the reason", async () => {
  const redis = Object.create(world.redis) as Redis;
  let isAway = false;
  Object.assign(redis, {
    async get(key: string) {
      if (isAway && key.startsWith("yard:{mcp}:login:")) throw new Error("Connection is closed.");
      return world.redis.get(key);
    },
  });
  const broker = await world.startBroker({ servers: [locked("unread")], redis });
  await logIn("unread");
  const echo = () => broker.call("unread", { tool: "echo", args: { message: "in" } });
  assert.equal((await echo()).text, "in");
  isAway = true;
  // The broker continues with its cached login for a few seconds.
  const error = await until(
    () =>
      echo().then(
        () => null,
        (reason: unknown) => reason,
      ),
    (found) => found !== null,
  );
  assert.ok(isError(error, callTool, "server_down"), String(error));
  assert.match(error.message, /did not take the call/);
  isAway = false;
  await broker.until("unread", ({ status }) => status === "connected");
  assert.equal((await echo()).text, "in");
  await broker.stop();
});

test("an access token that ended is renewed in the middle of the work, and before its end", async () => {
  const broker = await world.startBroker({ servers: [locked("renewed")] });
  await logIn("renewed");
  const before = oauth.grants["refresh_token"] ?? 0;
  oauth.expireAll();
  const echo = { tool: "echo", args: { message: "still in" } };
  assert.equal((await broker.call("renewed", echo)).text, "still in");
  assert.equal(oauth.grants["refresh_token"], before + 1);

  oauth.expiresIn = 1;
  oauth.expireAll();
  await broker.call("renewed", echo);
  oauth.expiresIn = 3_600;
  const renewed = oauth.grants["refresh_token"];
  await broker.call("renewed", echo);
  assert.ok((oauth.grants["refresh_token"] ?? 0) > (renewed ?? 0));
  await broker.stop();
});

test("one may log in and out through any broker, also one that does not own the server", async () => {
  const options = { servers: [locked("owned")], tokenKeys: newKey() };
  const first = await world.startBroker({ ...options, ownership: { instance: "first" } });
  await first.until("owned", ({ status }) => status === "error");
  const second = await world.startBroker({ ...options, ownership: { instance: "second" } });
  // Enough requests that each of the two brokers answers some.
  for (let n = 0; n < 8; n += 1) {
    await logIn("owned");
    assert.equal((await call(world.cli, logout, { server: "owned" })).wasLoggedIn, true);
  }
  await Promise.all([first.stop(), second.stop()]);
});

test("two brokers that are refused at once renew a rotating refresh token once, and lose no login", async () => {
  const tokenKeys = newKey();
  const options = { servers: [locked("shared")], tokenKeys };
  const first = await world.startBroker({ ...options, ownership: { instance: "first" } });
  await logIn("shared");
  const second = await world.startBroker({ ...options, ownership: { instance: "second" } });
  const sessions = await Promise.all(
    [first, second].map(async (broker) => {
      await broker.until("shared", ({ status }) => status === "connected");
      const { session } = broker.broker.pool.find("shared")?.connection ?? {};
      assert.ok(session);
      return session;
    }),
  );
  const before = oauth.grants["refresh_token"] ?? 0;
  const renewals = () => (oauth.grants["refresh_token"] ?? 0) - before;
  const gate = Promise.withResolvers<void>();
  oauth.tokenGate = gate.promise;
  oauth.expireAll();
  const refusals = oauth.refusals();
  const { signal } = new AbortController();
  const calls = Promise.all(
    // Two requests of each broker: those of one broker are each other's rivals, too.
    [...sessions, ...sessions].map((session) =>
      session.callTool({ tool: "echo", args: { message: "in" }, timeoutMs: 30_000, signal }),
    ),
  );
  calls.catch(() => undefined); // checked below
  await until(
    () => oauth.refusals() - refusals,
    (count) => count >= 4,
  );
  await until(renewals, (count) => count >= 1);
  gate.resolve();
  for (const { content } of await calls) assert.deepEqual(content, [{ type: "text", text: "in" }]);
  assert.deepEqual([renewals(), oauth.reuses()], [1, 0]);

  // The same for a token that expired at the announced time.
  oauth.expiresIn = 1;
  oauth.expireAll();
  await first.call("shared", { tool: "echo", args: { message: "once more" } });
  oauth.expiresIn = 3_600;
  await Promise.all(
    sessions.map((session) =>
      session.callTool({ tool: "echo", args: { message: "in" }, timeoutMs: 30_000, signal }),
    ),
  );
  assert.equal(oauth.reuses(), 0);
  await Promise.all([first.stop(), second.stop()]);
});

test("a server whose tokens were revoked reports that it needs a login", async () => {
  const broker = await world.startBroker({ servers: [locked("revoked")] });
  await logIn("revoked");
  oauth.expireAll();
  oauth.revokeAll();
  await assert.rejects(broker.call("revoked", { tool: "echo", args: { message: "out" } }));
  const { lastError } = await broker.until("revoked", ({ status }) => status === "error");
  assert.match(lastError ?? "", /needs login/);
  await logIn("revoked");
  await broker.stop();
});

test("an answer of another issuer, a used state and a foreign one are refused", async () => {
  const broker = await world.startBroker({ servers: [locked("strict")] });
  const wrong = await answerFor("strict");
  await assert.rejects(
    call(world.cli, finishLogin, { ...wrong, iss: "https://evil.example" }),
    (error) =>
      isError(error, finishLogin, "login_failed") &&
      /came from another authorization server/.test(error.message) &&
      !error.message.includes("evil.example"),
  );
  const expired = (error: unknown): boolean => isError(error, finishLogin, "login_expired");
  // The wrong issuer has used up the state.
  await assert.rejects(call(world.cli, finishLogin, wrong), expired);
  const good = await answerFor("strict");
  await assert.rejects(call(world.cli, finishLogin, { ...good, state: "guessed" }), expired);
  assert.equal((await call(world.cli, finishLogin, good)).server.status, "connected");
  await broker.stop();
});

test("only an admin logs in, only where there is a login, and only with a key", async () => {
  const broker = await world.startBroker({
    servers: [
      fixtureServer("process", ["fixture-server.ts"]),
      locked("own", { headers: { Authorization: "Bearer of-its-own" } }),
    ],
  });
  const begin = (server: string) => call(world.cli, beginLogin, { server, redirectUri });
  for (const server of ["process", "own"])
    await assert.rejects(begin(server), (error) =>
      isError(error, beginLogin, "login_not_supported"),
    );
  await assert.rejects(begin("nobody"), (error) => isError(error, beginLogin, "unknown_server"));
  await broker.stop();

  const strict = await world.startBroker({ servers: [locked("a")], admins: ["admin"] });
  await assert.rejects(begin("a"), (error) => isError(error, beginLogin, "forbidden_admin"));
  await strict.stop();

  const keyless = await world.startBroker({ servers: [locked("keyless")], tokenKeys: "" });
  const { lastError } = await keyless.until("keyless", ({ status }) => status === "error");
  assert.match(lastError ?? "", /YARD_KEYS_DIR has no mcp-logins\.key/);
  await assert.rejects(begin("keyless"), (error) =>
    isError(error, beginLogin, "login_key_missing"),
  );
  await keyless.stop();
});

const odd: [string, OddAuthorization, object?][] = [
  [
    "null members and empty addresses in all its documents",
    {
      metadata: {
        scopes_supported: null,
        service_documentation: "",
        registration_endpoint_x: null,
      },
      client: { client_secret_expires_at: null, redirect_uris: null, logo_uri: "", contacts: null },
      token: { scope: null, id_token: null, token_type: null, expires_in: null },
    },
  ],
  ["an issuer with a slash at its end", { slash: "/" }],
  ["HTML at the first address", { first: { status: 200, type: "text/html", body: "<html>" } }],
  ["HTTP 500 at the first address", { first: { status: 500, type: "text/plain", body: "no" } }],
  ["another authorization server before it", { others: ["http://127.0.0.1:9/none"] }],
  ["a scope as a list", { token: { scope: ["a", "b"] } }],
  ["no `resource` allowed", { refusesResource: true }, { oauth: { resource: false } }],
];
test("logging in works at authorization servers in use that differ from the specification", async () => {
  const servers = odd.map(([, , more], index) => locked(`odd-${index}`, more));
  const broker = await world.startBroker({ servers });
  for (const [index, [what, ways]] of odd.entries()) {
    oauth.odd = ways;
    const server = `odd-${index}`;
    await broker.until(server, ({ status }) => status === "error");
    await logIn(server).catch((error: unknown) => assert.fail(`${what}: ${String(error)}`));
  }
  oauth.odd = {};
  await broker.stop();
});

test("a client that the authorization server has forgotten is registered again", async () => {
  const broker = await world.startBroker({ servers: [locked("forgotten")] });
  await broker.until("forgotten", ({ status }) => status === "error");
  await logIn("forgotten");
  oauth.forgetClients();
  const error = await logIn("forgotten").catch((reason: unknown) => reason);
  assert.ok(isError(error, finishLogin, "login_failed"), String(error));
  assert.match(error.data.reason, /log in again/);
  await logIn("forgotten");
  await broker.stop();
});

test("a login that fails names the document that was wrong, and no path of a validator", async () => {
  const broker = await world.startBroker({ servers: [locked("named")] });
  await broker.until("named", ({ status }) => status === "error");
  const ways: [OddAuthorization, RegExp][] = [
    [{ token: { access_token: null } }, /token endpoint .* has no access_token/],
    [{ client: { client_id: null } }, /registration endpoint .* has no client_id/],
    [
      { metadata: { token_endpoint: null } },
      /oauth-authorization-server: it has no "token_endpoint"/,
    ],
  ];
  for (const [way, named] of ways) {
    oauth.odd = way;
    const error = await logIn("named").catch((reason: unknown) => reason);
    assert.ok(
      isError(error, finishLogin, "login_failed") || isError(error, beginLogin, "login_failed"),
      String(error),
    );
    assert.match(error.data.reason, named);
  }
  oauth.odd = {};
  await broker.stop();
});
