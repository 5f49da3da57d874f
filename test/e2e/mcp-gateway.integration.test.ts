import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { callOf, errorOf, startStdioWorld, type Json } from "../lib/stdio-world.ts";

const { dev, token, seed, project, bridge, connectV2 } = await startStdioWorld();
const owners = [bridge(dev.natsUrl, seed), bridge(dev.httpUrl, token)];
const isOwner = { SWITCHYARD_SENDER_IS_OWNER: "true" };

test("an owner reads and changes the project's configuration, over NATS and over HTTP [F30-F34]", async () => {
  for (const [index, env] of owners.entries()) {
    const { client } = await connectV2({ env: { ...env, ...isOwner } });
    const { json: shown } = await callOf(client, "gateway_config_get", { key: "agents.helper" });
    assert.equal((shown["config"] as Json)["model"], "scripted/plan");
    const { json: schema } = await callOf(client, "gateway_config_schema", { path: "agents" });
    assert.deepEqual(Object.keys(schema["writable"] as Json), [
      "agents.*.model",
      "agents.*.system_prompt",
    ]);
    const prompt = `Prompt ${index}`;
    const patches = { agents: { helper: { system_prompt: prompt } } };
    const baseHash = shown["hash"];
    const { json: changed } = await callOf(client, "gateway_config_patch", { patches, baseHash });
    assert.deepEqual(
      [changed["changed"], changed["files"]],
      [["agents.helper.system_prompt"], ["agents/helper.yaml"]],
    );
    assert.match(await readFile(join(project, "agents", "helper.yaml"), "utf8"), RegExp(prompt));
    assert.match(
      await errorOf(client, "gateway_config_patch", {
        patches: { agents: { helper: { model: "scripted/plan", system_prompt: "x" } } },
        baseHash,
      }),
      /config changed since last load/,
    );
    const { json: all } = await callOf(client, "gateway_config_get");
    const { json: same } = await callOf(client, "gateway_config_apply", { config: all["config"] });
    assert.equal(same["noop"], true);
    assert.match(
      await errorOf(client, "gateway_config_patch", { patches: { policies: {} } }),
      /cannot change protected config paths: policies/,
    );
    assert.match(await errorOf(client, "gateway_restart"), /commands\.restart=false/);
    await client.close();
  }
});

test("somebody who is not an owner is not shown them and cannot call them [F39]", async () => {
  const { client } = await connectV2({ env: bridge(dev.natsUrl, seed) });
  const { tools } = await client.listTools();
  assert.ok(tools.every(({ name }) => !name.startsWith("gateway_")));
  await assert.rejects(
    callOf(client, "gateway_config_get"),
    /there is no tool gateway_config_get for you/,
  );
});
