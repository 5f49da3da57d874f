import assert from "node:assert/strict";
import { test } from "node:test";
import type { ScheduleJob } from "@switchyard/client/operations";
import { fieldsOfJob, jobOfFields } from "../src/pages/schedule-fields.ts";

const job: ScheduleJob = {
  id: "job-0123456789abcdef",
  owner: "cli",
  name: "report",
  description: "Each morning.",
  agentId: "reader",
  sessionKey: null,
  schedule: { kind: "cron", expr: "0 7 * * *", tz: "Europe/Berlin", staggerMs: 500 },
  sessionTarget: "isolated",
  payload: {
    kind: "agentTurn",
    message: "What is new?",
    model: "scripted/plan",
    timeoutSeconds: 9,
  },
  enabled: true,
  deleteAfterRun: false,
  wakeMode: "now",
  overlap: "queue",
  catchUp: "skip",
  createdAtMs: 1,
  updatedAtMs: 1,
  state: { consecutiveErrors: 0, scheduleErrorCount: 0 },
};

test("what the form of a job does not show stays as it was", () => {
  const { name, description, agentId, sessionKey, schedule, sessionTarget, payload } = job;
  assert.deepEqual(jobOfFields(fieldsOfJob(job), job), {
    name,
    description,
    agentId,
    sessionKey,
    schedule,
    sessionTarget,
    payload,
    overlap: "queue",
    catchUp: "skip",
  });
});

test("a schedule and a place of another kind take over nothing of the old ones", () => {
  const fields = fieldsOfJob(job);
  const changed = { ...fields, when: "every", minutes: 1.5, where: "a session" } as const;
  const { schedule, payload, sessionTarget, sessionKey } = jobOfFields(changed, job);
  assert.deepEqual(schedule, { kind: "every", everyMs: 90_000 });
  assert.deepEqual(payload, { kind: "systemEvent", text: "What is new?" });
  assert.deepEqual([sessionTarget, sessionKey], ["main", null]);
});
