import assert from "node:assert/strict";
import { test } from "node:test";
import { EnvironmentError, readEnvironment } from "./environment.ts";
import { sessionToken } from "./session-token.ts";

const { signal } = new AbortController();
const BRIDGE = {
  SWITCHYARD_GATEWAY_URL: "nats://127.0.0.1:4222",
  SWITCHYARD_GATEWAY_TOKEN: "x",
  SWITCHYARD_SESSION_KEY: "desk",
  SWITCHYARD_SIDE_EFFECTS_FILE: "/tmp/effects",
  SWITCHYARD_CHANNEL: "telegram",
};

test("an agent, a group or a depth in the environment makes claims, and the channel is one of them then [F39]", () => {
  assert.equal(readEnvironment(BRIDGE).claims, null);
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
  const tokenFor = sessionToken({ session: "desk" }, claim, () => now);
  assert.deepEqual(await tokenFor(signal), { token: "one" });
  now = 500_000;
  assert.deepEqual(await tokenFor(signal), { token: "one" });
  now = 550_000;
  await assert.rejects(tokenFor(signal), /away/);
  assert.deepEqual(await tokenFor(signal), { token: "two" });
  assert.deepEqual(await sessionToken(null, claim)(signal), {});
});
