import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { readSideEffects } from "@switchyard/service/side-effects";
import { callOf, errorOf, startStdioWorld, type Json } from "../lib/stdio-world.ts";

const { dev, seed, bridge, connectV2 } = await startStdioWorld();
const natsEnv = bridge(dev.natsUrl, seed);
const effectsFile = natsEnv.SWITCHYARD_SIDE_EFFECTS_FILE;
const { client: nats } = await connectV2({ env: natsEnv });
const ownerEnv = { ...natsEnv, SWITCHYARD_SENDER_IS_OWNER: "true" };
const { client: owner } = await connectV2({ env: ownerEnv });
const hourly = { kind: "every", everyMs: 3_600_000 };
const report = {
  name: "report",
  agentId: "helper",
  schedule: hourly,
  sessionTarget: "isolated",
  payload: { kind: "agentTurn", message: "what is new" },
};

test("jobs are added, listed, changed, run and removed, and an added one is on the disk [F23-F29] [F37] [F38] [F41]", async () => {
  await rm(effectsFile, { force: true });
  const before = Number((await callOf(owner, "cron_status")).json["jobs"]);
  const { json: added } = await callOf(owner, "cron_add", { job: report });
  const { id: jobId, enabled, wakeMode, deleteAfterRun } = added;
  assert.match(String(jobId), /^job-/);
  assert.deepEqual([enabled, wakeMode, deleteAfterRun], [true, "now", false]);
  assert.equal((await readSideEffects(effectsFile)).cronAdds, 1);
  // Weak models write the job's fields in its place.
  const { json: flat } = await callOf(owner, "cron_add", {
    ...report,
    name: "flat",
    enabled: false,
  });
  assert.equal(flat["name"], "flat");
  assert.equal((await callOf(owner, "cron_status")).json["jobs"], before + 2);
  const jobsOf = async (args: Json) =>
    (await callOf(owner, "cron_list", args)).json["jobs"] as Json[];
  assert.equal((await jobsOf({ filter: "flat" })).length, 1);
  assert.equal((await jobsOf({ query: "flat", includeDisabled: false })).length, 0);
  assert.equal((await jobsOf({ enabled: "disabled", sortBy: "name", sortDir: "desc" })).length, 1);
  const payload = { kind: "agentTurn", message: "tell", thinking: "high" };
  const patch = { description: "each hour", payload };
  const { json: changed } = await callOf(owner, "cron_update", { jobId, patch });
  assert.deepEqual([changed["description"], changed["payload"]], ["each hour", payload]);
  const early = await callOf(owner, "cron_run", { jobId, mode: "due" });
  assert.deepEqual(early.json, { ran: false, reason: "not-due" });
  assert.equal((await callOf(owner, "cron_run", { id: jobId })).json["ran"], true);
  const entries = async () =>
    (await callOf(owner, "cron_runs", { jobId, limit: 5 })).json["entries"] as Json[];
  const [entry] = await until(entries, (all) => all.length > 0);
  assert.deepEqual(
    [entry?.["action"], entry?.["status"], entry?.["summary"], entry?.["jobName"]],
    ["finished", "ok", "You said tell", "report"],
  );
  const failed = await callOf(owner, "cron_runs", { scope: "all", statuses: ["error"] });
  assert.equal(failed.json["total"], 0);
  for (const job of [jobId, flat["id"]])
    assert.equal((await callOf(owner, "cron_remove", { jobId: job })).json["removed"], true);
  assert.equal((await callOf(owner, "cron_status")).json["jobs"], before);
});

test("a reminder has the end of the chat that it was made in, if that is wanted, and its run names the session [F25] [F29]", async () => {
  await callOf(owner, "sessions_send", { sessionKey: "desk", agentId: "helper", message: "Ada?" });
  const job = {
    name: "reminder",
    agentId: "helper",
    schedule: hourly,
    sessionTarget: "main",
    payload: { kind: "systemEvent", text: "call Ada" },
  };
  const { json } = await callOf(owner, "cron_add", { job, contextMessages: 2 });
  assert.equal(
    (json["payload"] as Json)["text"],
    "call Ada\n\nRecent context:\n- User: Ada?\n- Assistant: You said Ada?",
  );
  const jobId = json["id"];
  await callOf(owner, "cron_run", { jobId });
  const [entry] = await until(
    async () => (await callOf(owner, "cron_runs", { jobId })).json["entries"] as Json[],
    (all) => all.length > 0,
  );
  assert.deepEqual([entry?.["provider"], entry?.["status"]], ["scripted", "ok"]);
  const { json: list } = await callOf(owner, "sessions_list", {});
  const found = (list["sessions"] as Json[]).find(({ key }) => key === entry?.["sessionKey"]);
  assert.match(String(entry?.["sessionId"]), /^ses-/);
  assert.equal(entry?.["sessionId"], found?.["sessionId"]);
  await callOf(owner, "cron_remove", { jobId });
});

test("what a job answers is announced in the chat that it was made in [F25]", async () => {
  const env = { ...ownerEnv, SWITCHYARD_SESSION_KEY: "agent:helper:loopback:direct:ann" };
  const { client } = await connectV2({ env });
  const { json } = await callOf(client, "cron_add", { job: report });
  const jobId = json["id"];
  assert.deepEqual(json["delivery"], { mode: "announce", channel: "loopback", to: "user:ann" });
  await callOf(client, "cron_run", { jobId });
  const entries = async () =>
    (await callOf(client, "cron_runs", { jobId })).json["entries"] as Json[];
  const [entry] = await until(entries, (all) => all.length > 0);
  assert.equal(entry?.["deliveryStatus"], "delivered");
  const read = { channel: "loopback", channelId: "user:ann" };
  const { messages } = (await callOf(client, "message_read", read)).json["payload"] as {
    messages: Json[];
  };
  assert.deepEqual(
    messages.map(({ text }) => text),
    ["You said what is new"],
  );
  await callOf(client, "cron_remove", { jobId });
  const { json: quiet } = await callOf(client, "cron_add", {
    job: { ...report, delivery: { mode: "none" } },
  });
  assert.deepEqual(quiet["delivery"], { mode: "none" });
  await callOf(client, "cron_remove", { jobId: quiet["id"] });
});

test("what cron tools refuse, they say, and nothing is written down [F23-F29]", async () => {
  await rm(effectsFile, { force: true });
  const unknown = { jobId: "job-0" };
  for (const [name, args, text] of [
    ["cron_add", {}, /job required/],
    ["cron_update", unknown, /patch required/],
    ["cron_update", { patch: {} }, /jobId required \(id accepted for backward compatibility\)/],
    ["cron_remove", {}, /jobId required \(id accepted for backward compatibility\)/],
    ["cron_run", {}, /jobId required \(id accepted for backward compatibility\)/],
    ["cron_update", { ...unknown, patch: { name: "x" } }, /unknown cron job id: job-0/],
    ["cron_remove", unknown, /unknown cron job id: job-0/],
    ["cron_run", unknown, /unknown cron job id: job-0/],
    ["cron_runs", { jobId: "../etc" }, /jobId must not contain slashes/],
    ["cron_list", { kind: "x" }, /invalid_arguments/],
    [
      "cron_add",
      { job: { ...report, sessionTarget: "main" } },
      /main cron jobs require payload\.kind="systemEvent"/,
    ],
    [
      "cron_add",
      { job: { ...report, payload: { kind: "systemEvent", text: "x" } } },
      /isolated cron jobs require payload\.kind="agentTurn"/,
    ],
    [
      "cron_add",
      { job: { ...report, delivery: { mode: "webhook", to: "ftp://x" } } },
      /cron webhook delivery requires delivery\.to to be a valid http\(s\) URL/,
    ],
    ["cron_add", { job: { ...report, schedule: { kind: "daily" } } }, /job\.schedule\.kind: /],
    [
      "cron_add",
      { job: { ...report, payload: { ...report.payload, thinking: "loud" } } },
      /job\.payload\.thinking: must be one of off, none, minimal, low, medium, high, xhigh, max/,
    ],
  ] as const)
    assert.match(await errorOf(owner, name, args), text);
  assert.equal((await readSideEffects(effectsFile)).cronAdds, 0);
  // A caller who is not an owner does not see them and cannot call them.
  await assert.rejects(callOf(nats, "cron_list"), /there is no tool cron_list for you/);
});
