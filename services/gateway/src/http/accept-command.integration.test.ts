import assert from "node:assert/strict";
import { test } from "node:test";
import { publishEvent } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import { runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { startGatewayWorld } from "../../test/gateway-world.ts";
import { sendJson, type Sent } from "../../test/send-json.ts";

const world = await startGatewayWorld(["team-a", "team-b"]);
const gateways = await Promise.all([world.startGateway(), world.startGateway()]);
const [{ url }, { url: otherUrl }] = [gateways[0] ?? assert.fail(), gateways[1] ?? assert.fail()];
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const runner = await world.connectAs("runner");
const runs = serve(runner, { name: "runner", version: "0.1.0", description: "", onFault });
runs.handle(getRun, ({ runId }, { fail }) => {
  throw fail.unknown_run(`there is no run ${runId}`, { runId });
});
await runner.flush();

const send = (path: string, sent: Partial<Sent> = {}) => sendJson(path, { at: url, ...sent });

test("commands that a runner would refuse are refused at once: a run of another owner, an agent that does not exist, an event that does not", async () => {
  const importer = await world.connectAs("importer");
  const service = serve(importer, { name: "importer", version: "0.1.0", description: "", onFault });
  service.handle(getAgent, ({ name }, { fail }) => {
    throw fail.unknown_agent(`there is no agent ${name}`, { name, known: ["demo"] });
  });
  await importer.flush();
  const { key } = await world.keyOf("team-a", ["operator"]);
  const post = async (path: string, body: object) => {
    const { status, json } = await send(path, { method: "POST", key, body });
    return [status, json["code"]];
  };
  const start = { agent: "demo", input: "go" };
  assert.deepEqual(await post("/runs", { ...start, runId: "team-b~x" }), [400, "invalid_request"]);
  assert.deepEqual(await post("/runs", start), [404, "unknown_agent"]);
  for (const [verb, body] of [
    ["retry", {}],
    ["resume", {}],
    ["steer", { message: "x" }],
    ["fork", { fromStep: 1, newRunId: "copy" }],
  ] as const)
    assert.deepEqual(await post(`/runs/team-b~x/${verb}`, body), [403, "not_allowed"], verb);
  assert.deepEqual(await post("/runs/none/fork", { fromStep: 1 }), [404, "unknown_run"]);
  await service.drain();
  assert.equal((await post("/runs", start))[0], 202, "without the importer the runner finds out");
  const hook = await send("/webhooks", {
    method: "POST",
    key,
    body: { url: "https://example.com/hook", events: ["run.finish"] },
  });
  assert.deepEqual([hook.status, hook.json["code"]], [400, "invalid_request"]);
  assert.match(String(hook.json["detail"]), /did you mean run\.finished/);
});

test("a run can be read as soon as its command is accepted, on every replica, and a rejected one returns the reason", async () => {
  const { key } = await world.keyOf("team-a", ["operator"]);
  const start = (body: object) => send("/runs", { method: "POST", key, body });
  const runOf = async (runId: string, at = otherUrl, shown = key) => {
    const { status, json } = await send(`/runs/${runId}`, { key: shown, at });
    return { status, run: json["run"] as Record<string, unknown> };
  };
  const body = { agent: "demo", input: "go", runId: "early", labels: { ticket: "7" } };
  assert.equal((await start(body)).status, 202);
  const { status, run } = await runOf("early");
  assert.equal(status, 200);
  assert.deepEqual(
    [run["runId"], run["status"], run["agent"], run["input"], run["labels"], run["failure"]],
    ["team-a~early", "queued", "demo", "go", { ticket: "7" }, null],
  );
  const { key: ofAnother } = await world.keyOf("team-b", ["operator"]);
  assert.equal((await runOf("team-a~early", url, ofAnother)).status, 404);
  assert.equal((await runOf("never")).status, 404);

  await publishEvent(
    runner,
    runRejected,
    { owner: "team-a", runId: "early" },
    {
      runId: "team-a~early",
      subject: "yard.cmd.gateway.run.start.demo",
      caller: "team-a",
      code: "unknown_skill",
      message: "there is no skill x",
      problems: [],
      streamSequence: 1,
      messageId: null,
      at: new Date().toISOString(),
    },
  );
  const refused = await runOf("early");
  assert.deepEqual([refused.status, refused.run["status"]], [200, "rejected"]);
  assert.deepEqual(refused.run["failure"], {
    code: "unknown_skill",
    message: "there is no skill x",
  });
});
