import assert from "node:assert/strict";
import { test } from "node:test";
import { EnvironmentError, readEnvironment } from "./environment.ts";
import { sessionToken } from "./session-token.ts";

const { signal } = new AbortController();
const codeOf = (error: unknown) => (error instanceof Error ? error.message : null);
const BRIDGE = {
  SWITCHYARD_GATEWAY_URL: "nats://127.0.0.1:4222",
  SWITCHYARD_GATEWAY_TOKEN: "x",
  SWITCHYARD_SESSION_KEY: "desk",
  SWITCHYARD_SIDE_EFFECTS_FILE: "/tmp/effects",
  SWITCHYARD_CHANNEL: "telegram",
};

test("a session in the environment makes claims, and agent, channel, group and depth are about it [F39]", () => {
  assert.deepEqual(readEnvironment(BRIDGE).claims, { session: "desk", channel: "telegram" });
  assert.equal(readEnvironment({ SWITCHYARD_CHANNEL: "telegram" }).claims, null);
  const env = { ...BRIDGE, SWITCHYARD_AGENT_ID: "coder", SWITCHYARD_DEPTH: "1" };
  const claims = { session: "desk", agent: "coder", channel: "telegram", depth: 1 };
  assert.deepEqual(readEnvironment(env).claims, claims);
  assert.throws(() => readEnvironment({ ...env, SWITCHYARD_DEPTH: "deep" }), EnvironmentError);
  assert.throws(() => readEnvironment({ SWITCHYARD_AGENT_ID: "coder" }), {
    message: /claims about a session: set SWITCHYARD_SESSION_KEY/,
  });
});

test("the token of claims is kept until shortly before it expires, and a failure is not kept [F39]", async () => {
  let now = 0;
  const answers: (() => Promise<string>)[] = [
    async () => "one",
    () => Promise.reject(new Error("away")),
    async () => "two",
  ];
  const claim = async () => {
    const token = await (answers.shift() ?? (async () => "none"))();
    return { token, expiresAt: new Date(now + 600_000).toISOString() };
  };
  const tokenFor = sessionToken({ session: "desk" }, { claim, codeOf, now: () => now });
  assert.deepEqual(await tokenFor(signal), { token: "one" });
  now = 500_000;
  assert.deepEqual(await tokenFor(signal), { token: "one" });
  now = 550_000;
  await assert.rejects(tokenFor(signal), /away/);
  assert.deepEqual(await tokenFor(signal), { token: "two" });
  assert.deepEqual(await sessionToken(null, { claim, codeOf })(signal), {});
});

test("a session without a record is looked up at each call, and gives no token unless an agent, group or depth is claimed [F39]", async () => {
  const answers = ["unknown_session", "no_run", "forbidden", null, "false_claim"];
  const claim = async () => {
    const code = answers.shift() ?? null;
    if (code !== null) throw new Error(code);
    return { token: "one", expiresAt: new Date(30_000).toISOString() };
  };
  const session = { session: "desk", channel: "telegram" };
  const tokenFor = sessionToken(session, { claim, codeOf, now: () => 0 });
  for (const token of [{}, {}, {}, { token: "one" }])
    assert.deepEqual(await tokenFor(signal), token);
  await assert.rejects(tokenFor(signal), /false_claim/);
  for (const named of [{ agent: "coder" }, { group: "team" }, { depth: 0 }]) {
    const refused = async () => Promise.reject(new Error("unknown_session"));
    const strict = sessionToken({ ...session, ...named }, { claim: refused, codeOf });
    await assert.rejects(strict(signal), /unknown_session/);
  }
});
