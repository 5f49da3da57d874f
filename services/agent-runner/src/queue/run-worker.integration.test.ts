import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { Plan } from "@switchyard/contracts/agent-runner/plan";
import { listRuns } from "@switchyard/contracts/agent-runner/runs";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { agent, answering, labTool, skill } from "../../test-fixtures/fake-services.ts";
import { sequenceOf, startLab } from "../../test-fixtures/runner-lab.ts";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { until } from "@switchyard/local-servers/until";
import { applyEntry, startOf } from "../core/replay.ts";
import { openRunStore, type RunStore } from "../journal/run-store.ts";

const lab = await startLab();
const runner = await lab.runner({ YARD_RUNNER_SLOTS: "4" });

test("answers every kind of bad command with a rejected event and never processes it again", async () => {
  lab.services.agents.set("plain", answering("plain", "ok"));
  lab.services.agents.set("planless", agent("planless"));
  lab.services.skills.set("for-models", skill("for-models", { userInvocable: false }));
  const subject = "yard.cmd.cli.run.start.plain";
  const cases: [string, string, string][] = [
    ["malformed_json", subject, "{not json"],
    ["malformed_json", subject, ""],
    ["invalid_command", subject, JSON.stringify({ input: "x", colour: "red" })],
    ["invalid_command", subject, JSON.stringify({ input: "" })],
    ["invalid_command", subject, JSON.stringify({ input: "x", runId: "../etc" })],
    ["invalid_command", "yard.cmd.cli.run.start._plain", JSON.stringify({ input: "x" })],
    ["invalid_command", "yard.cmd.CLI.run.start.plain", JSON.stringify({ input: "x" })],
    [
      "invalid_command",
      "yard.cmd.CLI.run.start.plain",
      JSON.stringify({ input: "x", runId: "named" }),
    ],
    ["invalid_command", "yard.cmd.CLI.run.start.plain", JSON.stringify({ runId: "named" })],
    ["invalid_command", subject, JSON.stringify({ input: "x", runId: "team-a~x" })],
    ["unknown_command", "yard.cmd.cli.run.explode.plain", JSON.stringify({ input: "x" })],
    ["unknown_agent", "yard.cmd.cli.run.start.nobody", JSON.stringify({ input: "x" })],
    ["unknown_skill", subject, JSON.stringify({ input: "x", skill: "nothing" })],
    ["skill_not_invocable", subject, JSON.stringify({ input: "x", skill: "for-models" })],
    ["unknown_model", subject, JSON.stringify({ input: "x", model: "nowhere/gpt" })],
    ["unknown_model", subject, JSON.stringify({ input: "x", model: "scripted/other" })],
    ["plan_missing", "yard.cmd.cli.run.start.planless", JSON.stringify({ input: "x" })],
  ];
  for (const [code, on, body] of cases) {
    const payload = await rejectionOf(on, body);
    assert.equal(payload["code"], code, JSON.stringify(payload));
    assert.equal(payload["subject"], on);
    assert.notEqual(payload["message"], "");
  }
  await until(async () => (await lab.pendingCommands()) === 0);
});

test("names the wrong field of a command and keeps its run id", async () => {
  const invalid = await rejectionOf("yard.cmd.cli.run.start.plain", '{"input":"x","colour":"red"}');
  assert.match(JSON.stringify(invalid["problems"]), /colour/);
  const unknown = await rejectionOf(
    "yard.cmd.cli.run.start.nobody",
    '{"input":"x","runId":"asked-for"}',
  );
  assert.equal(unknown["runId"], "cli~asked-for");
});

test("accepts a repeated command as the same run, and rejects another command under its id", async () => {
  lab.services.agents.set("plain", answering("plain", "ok"));
  const body = { runId: "repeated", input: "once" };
  await lab.command("plain", body);
  await lab.eventsUntil("repeated", "finished");
  await lab.command("plain", body);
  await lab.command("plain", { ...body, input: "twice" });
  const events = await lab.eventsUntil("repeated", "rejected");
  assert.deepEqual(
    events.map(({ name }) => name),
    ["started", "model-responded", "finished", "rejected"],
  );
  assert.equal(events.at(-1)?.payload["code"], "run_id_taken");
  await until(async () => (await lab.pendingCommands()) === 0);
});

test("resumes a run that exists with its pinned definition, whatever its agent has become", async () => {
  const pinned = (runId: string, tool: string) => {
    const plan = { steps: [{ calls: [{ tool: labTool(tool), with: {} }] }], answer: "done" };
    const at = new Date().toISOString(); // the run's time limit counts from here
    const of = { runId, at, agent: "plain", toolLayers: [[labTool(tool)]] };
    return { ...startedEntry(of), plan: Plan.parse(plan) };
  };
  lab.services.tools.set("pinned", () => "used");
  lab.services.agents.set("plain", answering("plain", "not this one"));
  await withStore(async (store) => {
    for (const runId of ["cli~edited", "cli~removed"])
      await store.claim({ ...requestOf(runId), started: pinned(runId, "pinned") });
  });
  await lab.command("plain", { runId: "edited", input: "x" });
  const edited = await lab.eventsUntil("edited", "finished");
  assert.equal(edited.at(-1)?.payload["output"], "done");
  const used = lab.services.tokens.get("cli~edited:1:0");
  const granted = lab.services.grants.findIndex(
    (_, index) => used === `token-cli~edited-${index + 1}`,
  );
  assert.deepEqual(lab.services.grants[granted]?.tools, [[labTool("pinned")]]);

  lab.services.agents.delete("plain");
  await lab.command("plain", { runId: "removed", input: "x" });
  const removed = await lab.eventsUntil("removed", "finished");
  assert.equal(removed.at(-1)?.payload["output"], "done");
});

test("mints a run id when the command names none", async () => {
  lab.services.agents.set("nameless", answering("nameless", "{{/input}}"));
  await lab.command("nameless", { input: "who am I?" });
  const [run] = await until(async () => {
    const { runs } = await call(lab.bus, listRuns, { agent: "nameless", status: "succeeded" });
    return runs.length > 0 ? runs : null;
  });
  assert.match(run?.runId ?? "", /^cli~run-[0-9a-f]{26}$/);
});

test("gives up a run with which no runner makes progress", async () => {
  lab.services.agents.set("plain", answering("plain", "ok"));
  await withStore(async (store) => {
    const request = requestOf("cli~poison");
    await store.claim({
      ...request,
      started: startedEntry({ runId: "cli~poison", agent: "plain" }),
    });
    for (let pick = 2; pick <= 5; pick += 1) await store.claim(request);
  });
  await lab.command("plain", { runId: "poison", input: "x" });
  const events = await lab.eventsUntil("poison", "dead");
  assert.deepEqual(
    events.map(({ name }) => name),
    ["started", "resumed", "dead"],
  );
  assert.match(JSON.stringify(events.at(-1)?.payload["failure"]), /too_many_attempts/);
  await until(async () => (await lab.pendingCommands()) === 0);
});

test("publishes the events of a run whose runner died right after the last entry", async () => {
  await withStore(async (store) => {
    const started = startedEntry({ runId: "cli~unpublished", agent: "plain" });
    const claimed = await store.claim({ ...requestOf("cli~unpublished"), started });
    assert.ok(claimed.outcome === "claimed");
    const end = { kind: "finished" as const, at: started.at, output: "kept" };
    await store.append(claimed.hold, [end], applyEntry(startOf(started), end), 0);
  });
  await lab.command("plain", { runId: "unpublished", input: "x" });
  const events = await lab.eventsUntil("unpublished", "finished");
  assert.deepEqual(sequenceOf(events), [1, 2]);
  assert.equal(events.at(-1)?.payload["output"], "kept");
  await until(async () => (await lab.pendingCommands()) === 0);
});

test("refuses a run whose journal cannot be read instead of retrying it for ever", async () => {
  await withStore(async (store, client) => {
    const started = startedEntry({ runId: "cli~corrupt", agent: "plain" });
    await store.claim({ ...requestOf("cli~corrupt"), started });
    await client.rpush("yard:run:{cli~corrupt}:journal", '{"kind":"unknown"}');
  });
  const rejected = await rejectionOf(
    "yard.cmd.cli.run.start.plain",
    JSON.stringify({ runId: "corrupt", input: "x" }),
  );
  assert.equal(rejected["code"], "journal_corrupt");
  await until(async () => (await lab.pendingCommands()) === 0);
});

test("waits for a service that is not there yet, and does not hold it against the run", async () => {
  lab.services.agents.set("plain", answering("plain", "ok"));
  await lab.services.pause("importer");
  await lab.command("plain", { runId: "early", input: "x" });
  await runner.logged("run suspended");
  await lab.services.resume("importer");
  const events = await lab.eventsUntil("early", "finished");
  assert.deepEqual(
    events.map(({ name }) => name),
    ["delayed", "started", "model-responded", "finished"],
  );
  assert.match(String(events[0]?.payload["reason"]), /yard\.rpc\.runner\.agents\.get/);
});

/** Changes a run as a runner before this one did, through the store itself. */
async function withStore(act: (store: RunStore, client: Redis) => Promise<void>): Promise<void> {
  const log = createLog({ service: "test", level: "silent" });
  const client = await connectRedis({ url: lab.redis.url, name: "test", log });
  try {
    await act(openRunStore(client, { holdMs: 0 }), client);
  } finally {
    client.disconnect();
  }
}

/** The claim of a command `{ runId, input: "x" }` for the agent `plain`. */
function requestOf(runId: string) {
  const asked = { input: "x" };
  const commandDigest = canonicalDigest({ agent: "plain", requester: "cli", asked });
  return { runId, commandDigest, delivery: "0" };
}

/** Publishes a command and waits for the event that refuses it. */
async function rejectionOf(subject: string, body: string): Promise<Record<string, unknown>> {
  const messageId = randomUUID();
  await lab.publish(subject, body, messageId);
  const filters = ["yard.evt.run.*.*.rejected"];
  for await (const { payload } of readEvents(lab.bus, { filters, from: "beginning" })) {
    const rejected = payload as Record<string, unknown>;
    if (rejected["messageId"] === messageId) return rejected;
  }
  throw new Error("the events ended before the rejection");
}
