import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Client as ClientV2 } from "@modelcontextprotocol/client";
import { call } from "@switchyard/bus/call";
import { sessionHistory } from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { connectAsCli } from "../lib/yard-dev.ts";
import { callOf, errorOf, startStdioWorld } from "../lib/stdio-world.ts";

const { dev, token, seed, bridge, connectV2 } = await startStdioWorld();
const natsEnv = bridge(dev.natsUrl, seed);
const { client: nats } = await connectV2({ env: natsEnv });
const namesOf = async (client: Pick<ClientV2, "listTools">) =>
  (await client.listTools()).tools.map(({ name }) => name).toSorted();

test("claims about a session are checked against its record, and bring the rules of its agent, over NATS and over HTTP [F39]", async () => {
  const session = "agent:clerk:front";
  await callOf(nats, "sessions_send", { sessionKey: session, message: "hi" });
  for (const base of [natsEnv, bridge(dev.httpUrl, token)]) {
    const env = { ...base, SWITCHYARD_SESSION_KEY: session };
    for (const claims of [{}, { SWITCHYARD_AGENT_ID: "clerk", SWITCHYARD_DEPTH: "0" }]) {
      const { client } = await connectV2({ env: { ...env, ...claims } });
      const names = await namesOf(client);
      assert.ok(names.includes("session_status"));
      for (const name of ["agents_list", "message_send"]) assert.ok(!names.includes(name), name);
      const { json } = await callOf(client, "session_status");
      assert.equal(json["sessionKey"], session);
      assert.match(await errorOf(client, "agents_list"), /^denied: .*no-lists-for-clerks/);
    }
    for (const [claim, wrong] of [
      [{ SWITCHYARD_CHANNEL: "loopback" }, /claim channel loopback is false: .* has no channel/],
      [{ SWITCHYARD_AGENT_ID: "helper" }, /claim agent helper is false: .* has the agent clerk/],
      [
        { SWITCHYARD_AGENT_ID: "clerk", SWITCHYARD_CHANNEL: "loopback" },
        /claim channel loopback is false: .* has no channel/,
      ],
      [
        { SWITCHYARD_AGENT_ID: "clerk", SWITCHYARD_SESSION_KEY: "agent:clerk:none" },
        /there is no session agent:clerk:none/,
      ],
    ] as [Record<string, string>, RegExp][]) {
      const { client: liar } = await connectV2({ env: { ...env, ...claim } });
      await assert.rejects(liar.listTools(), wrong);
      assert.match(await errorOf(liar, "session_status"), wrong);
    }
  }
});

test("a session without a record is not believed until it has one, and a channel alone never is, over NATS and over HTTP [F39]", async () => {
  for (const [name, base] of Object.entries({
    nats: natsEnv,
    http: bridge(dev.httpUrl, token),
  })) {
    const session = `agent:clerk:new-${name}`;
    const env = { ...base, SWITCHYARD_SESSION_KEY: session, SWITCHYARD_CHANNEL: "loopback" };
    const { client } = await connectV2({ env });
    assert.ok((await namesOf(client)).includes("agents_list"), "the caller's rules");
    await callOf(client, "sessions_send", { sessionKey: session, message: "hi" });
    await assert.rejects(client.listTools(), /claim channel loopback is false/);
  }
  const { client } = await connectV2({ env: { SWITCHYARD_CHANNEL: "telegram" } });
  assert.ok((await namesOf(client)).includes("agents_list"));
});

test("the session of a sub-agent is claimed with its depth, and what a claimed session starts is below it [F39]", async () => {
  const parent = "agent:clerk:parent";
  await callOf(nats, "sessions_send", { sessionKey: parent, message: "hi" });
  const env = { ...natsEnv, SWITCHYARD_SESSION_KEY: parent };
  const { client } = await connectV2({ env });
  const { json } = await callOf(client, "sessions_spawn", { task: "look", label: "look" });
  const child = String(json["childSessionKey"]);
  const below = { ...env, SWITCHYARD_SESSION_KEY: child };
  const { client: sub } = await connectV2({ env: { ...below, SWITCHYARD_DEPTH: "1" } });
  const names = await until(
    () => namesOf(sub).catch(String),
    (seen) => Array.isArray(seen),
  );
  for (const name of ["session_status", "agents_list", "sessions_send"])
    assert.ok(!names.includes(name), `${name} is not for sub-agents`);
  const { client: liar } = await connectV2({ env: { ...below, SWITCHYARD_DEPTH: "0" } });
  await assert.rejects(liar.listTools(), /claim depth 0 is false: .* has the depth 1/);
  // The announced result is answered with the limits of the sub-agent, which are not those of the session.
  const bus = await connectAsCli(dev);
  after(() => bus.close());
  const isAnnounced = async () =>
    (await call(bus, sessionHistory, { session: parent })).messages.some(({ text }) =>
      text.includes("has ended: look"),
    );
  await until(isAnnounced);
  const { client: still } = await connectV2({ env: { ...env, SWITCHYARD_DEPTH: "0" } });
  assert.ok((await namesOf(still)).includes("session_status"));
});

test("POST /tools/invoke checks the claims of its headers in the same way [F39]", async () => {
  const session = "agent:clerk:back";
  await callOf(nats, "sessions_send", { sessionKey: session, message: "hi" });
  const invoke = async (tool: string, claims: Record<string, string>, sessionKey = session) => {
    const response = await fetch(`${dev.httpUrl}/tools/invoke`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...claims },
      body: JSON.stringify({ tool, args: {}, sessionKey }),
    });
    return [response.status, JSON.stringify(await response.json())] as const;
  };
  assert.equal((await invoke("agents_list", {}))[0], 404, "the session alone is a claim");
  assert.equal((await invoke("agents_list", {}, "agent:clerk:none"))[0], 200);
  const onLoopback = { "x-openclaw-message-channel": "loopback" };
  const [refused, reason] = await invoke("session_status", onLoopback);
  assert.equal(refused, 403);
  assert.match(reason, /false_claim.*claim channel loopback is false/);
  assert.equal((await invoke("agents_list", onLoopback, "agent:clerk:none"))[0], 200);
  const clerk = { "x-switchyard-agent-id": "clerk", "x-switchyard-depth": "0" };
  assert.equal((await invoke("session_status", clerk))[0], 200);
  assert.equal((await invoke("agents_list", clerk))[0], 404);
  const [status, text] = await invoke("session_status", { "x-openclaw-agent-id": "helper" });
  assert.equal(status, 403);
  assert.match(text, /false_claim.*claim agent helper is false/);
  const [unknown, why] = await invoke("session_status", clerk, "agent:clerk:none");
  assert.equal(unknown, 403);
  assert.match(why, /there is no session agent:clerk:none/);
});
