import assert from "node:assert/strict";
import { test } from "node:test";
import { ScheduleJobInput } from "@switchyard/contracts/scheduler/schedules";
import { ALREADY_WAITS, heartbeatTurn, isHeartbeat, waitOn } from "./heartbeat.ts";
import type { ActiveRun, JobRecord } from "@switchyard/project/jobs/job-record";
import { makeJob } from "@switchyard/project/jobs/make-job";
import { takeDue } from "./take-due.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const MINUTE = 60_000;
const settings = { heartbeatMs: 30 * MINUTE, agent: "demo" };

/** A job that is due every minute, and waits for the heartbeat since its first due time. */
function waiting(name: string, fields: Record<string, unknown> = {}, afterMs = MINUTE): JobRecord {
  const job = makeJob(
    ScheduleJobInput.parse({
      name,
      schedule: { kind: "every", everyMs: MINUTE },
      sessionTarget: "main",
      wakeMode: "next-heartbeat",
      payload: { kind: "systemEvent", text: `${name} is due` },
      ...fields,
    }),
    { owner: "team-a", now: NOW, hasAgent: true },
  );
  const change = takeDue(job, NOW + afterMs, settings);
  assert.ok(change?.record);
  return change.record;
}

function runOf(record: JobRecord): ActiveRun {
  const [run] = record.active;
  assert.ok(run);
  return run;
}

test("all jobs that wait for a heartbeat share one run, with the same agent, session, model and level of thinking", () => {
  const run = runOf(waiting("plants"));
  assert.ok(run.checkAtMs > NOW + MINUTE && run.checkAtMs <= NOW + 31 * MINUTE);
  assert.ok(isHeartbeat(run.start.runId ?? ""));
  assert.equal(runOf(waiting("post")).runId, run.runId);
  for (const other of [
    { sessionKey: "desk" },
    { agentId: "other" },
    { payload: { kind: "systemEvent", text: "x", model: "scripted/plan" } },
    { payload: { kind: "systemEvent", text: "x", thinking: "low" } },
  ])
    assert.notEqual(runOf(waiting("other", other)).runId, run.runId);
  assert.ok(!isHeartbeat(runOf(waiting("now", { wakeMode: "now" })).start.runId ?? ""));
});

test("a heartbeat combines all waiting texts in one message, the longest due first, and sends a single text unchanged", () => {
  const [post, plants] = [waiting("post", every(2), 2 * MINUTE), waiting("plants")];
  const { runId } = runOf(plants);
  const elsewhere = waiting("elsewhere", { sessionKey: "desk" });
  const turn = heartbeatTurn(runId, [post, elsewhere, plants]);
  assert.equal(turn?.start.input, "[plants]\nplants is due\n\n[post]\npost is due");
  assert.equal(`team-a~${turn?.start.runId}`, runId);
  assert.deepEqual(turn?.jobs, [plants.job.id, post.job.id]);
  assert.equal(heartbeatTurn(runId, [plants])?.start.input, "plants is due");
  assert.equal(heartbeatTurn(runId, [elsewhere]), null);
});

test("texts that do not fit into a heartbeat, and those that came too late for it, wait for the next one", () => {
  const text = "x".repeat(30_000);
  const payload = { kind: "systemEvent", text };
  const all = ["a", "b", "c", "d", "e"].map((name) => waiting(name, { payload }));
  const [first] = all;
  assert.ok(first);
  const run = runOf(first);
  assert.equal(heartbeatTurn(run.runId, all)?.jobs.length, 4);
  const later = waitOn(first, run, settings.heartbeatMs, run.checkAtMs);
  assert.ok(later.record);
  const next = runOf(later.record);
  assert.equal(next.checkAtMs, run.checkAtMs + settings.heartbeatMs);
  assert.notEqual(next.runId, run.runId);
  assert.equal(next.start.input, text);
  assert.deepEqual(later.events, [
    { kind: "started", facts: { runId: next.runId, dueAtMs: run.dueAtMs } },
  ]);
});

test("a job waits for a heartbeat once, however often it is due until then, and each due time has its entry", () => {
  const record = waiting("often", { overlap: "parallel" });
  const again = takeDue(record, NOW + 2 * MINUTE, settings);
  assert.equal(again?.record?.active.length, 1);
  assert.equal(again?.entries[0]?.error, ALREADY_WAITS);
  const run = runOf(record);
  const both = { ...record, active: [run, { ...run, runId: nextOf(record) }] };
  const merged = waitOn(both, run, settings.heartbeatMs, run.checkAtMs);
  assert.equal(merged.record?.active.length, 1);
  assert.equal(merged.entries[0]?.error, ALREADY_WAITS);
});

function every(minutes: number): Record<string, unknown> {
  return { schedule: { kind: "every", everyMs: minutes * MINUTE } };
}

function nextOf(record: JobRecord): string {
  const run = runOf(record);
  const { record: moved } = waitOn(record, run, settings.heartbeatMs, run.checkAtMs);
  assert.ok(moved);
  return runOf(moved).runId;
}
