import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import { connectAsCli } from "../lib/yard-dev.ts";
import { callOf, errorOf, startStdioWorld, type Json } from "../lib/stdio-world.ts";

const { dev, token, seed, project, bridge, connectV2 } = await startStdioWorld();
const owners = [bridge(dev.natsUrl, seed), bridge(dev.httpUrl, token)];
const isOwner = { SWITCHYARD_SENDER_IS_OWNER: "true" };

test("an owner reads and changes the project's configuration, over NATS and over HTTP [F30-F34] [F41]", async () => {
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
    const base = { baseHash: all["hash"] };
    const applied = { config: all["config"], ...base };
    const { json: same } = await callOf(client, "gateway_config_apply", applied);
    assert.equal(same["noop"], true);
    assert.match(
      await errorOf(client, "gateway_config_patch", { patches: { policies: {} }, ...base }),
      /cannot change protected config paths: policies/,
    );
    await client.close();
  }
});

test("a restart is a real one: both services have started again, a waiting run continues, and the session is notified [F30]", async () => {
  const { client } = await connectV2({ env: { ...owners[0], ...isOwner } });
  /** The number of times that the service became ready, in its own process or beside others. */
  const startsOf = (name: string): number =>
    dev.log.filter(({ service, msg }) => service === name && msg === "service ready").length;
  assert.deepEqual([startsOf("agent-runner"), startsOf("scheduler")], [1, 1]);
  const asked = { sessionKey: "colours", agentId: "asker", message: "go", timeoutSeconds: 0 };
  const { json: run } = await callOf(client, "sessions_send", asked);
  const bus = await connectAsCli(dev);
  after(() => bus.close());
  const question = await until(
    async () => (await call(bus, listQuestions, {})).questions,
    (all) => all.length === 1,
  );
  const { json: scheduler } = await callOf(client, "gateway_restart", {
    service: "scheduler",
    reason: "new triggers",
  });
  assert.deepEqual([scheduler["restarted"], scheduler["processes"]], [true, 1]);
  const { json: runner } = await callOf(client, "gateway_restart", {
    service: "runner",
    sessionKey: "agent:helper:told",
    continuationMessage: "go on",
  });
  assert.equal(runner["ok"], true);
  const history = await until(
    () => callOf(client, "sessions_history", { sessionKey: "agent:helper:told" }),
    ({ text }) => text.includes("You said"),
  );
  assert.match(history.text, /runner was restarted and is ready \(1 process[^]*go on/);
  await until(() => startsOf("agent-runner") === 2 && startsOf("scheduler") === 2);
  const [{ runId, callId } = { runId: "", callId: "" }] = question;
  await call(bus, answerQuestion, { runId, callId, answer: "blue" });
  const ended = await until(
    async () => (await call(bus, getRun, { runId: String(run["runId"]) })).run,
    ({ status }) => status === "succeeded",
  );
  assert.equal(ended.output, "The colour is blue");
  await client.close();
});

test("a caller who is not an owner does not see them and cannot call them [F39]", async () => {
  const { client } = await connectV2({ env: bridge(dev.natsUrl, seed) });
  const { tools } = await client.listTools();
  assert.ok(tools.every(({ name }) => !name.startsWith("gateway_")));
  await assert.rejects(
    callOf(client, "gateway_config_get"),
    /there is no tool gateway_config_get for you/,
  );
});
