import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client as ClientV2 } from "@modelcontextprotocol/client";
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
    const { client: free } = await connectV2({ env });
    assert.ok((await namesOf(free)).includes("agents_list"), "without claims the caller's rules");
    const { client } = await connectV2({
      env: { ...env, SWITCHYARD_AGENT_ID: "clerk", SWITCHYARD_DEPTH: "0" },
    });
    const names = await namesOf(client);
    assert.ok(names.includes("session_status"));
    for (const name of ["agents_list", "message_send"]) assert.ok(!names.includes(name), name);
    assert.equal((await callOf(client, "session_status")).isError, false);
    assert.match(await errorOf(client, "agents_list"), /^denied: .*no-lists-for-clerks/);

    for (const [claim, wrong] of [
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
  assert.equal((await invoke("agents_list", {}))[0], 200);
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
