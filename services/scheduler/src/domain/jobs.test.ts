import assert from "node:assert/strict";
import { test } from "node:test";
import { ScheduleJobInput } from "@switchyard/contracts/scheduler/schedules";
import { closeRun, endRun } from "./end-run.ts";
import type { Change, JobRecord } from "@switchyard/project/jobs/job-record";
import { makeJob, patchJob } from "@switchyard/project/jobs/make-job";
import { missedTimes, nextTime } from "@switchyard/project/jobs/next-time";
import { startForced, takeDue } from "./take-due.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const MINUTE = 60_000;
const settings = { heartbeatMs: 1_800_000, agent: "demo" };
const made = { owner: "team-a", now: NOW, hasAgent: true };
const turn = { kind: "agentTurn", message: "hello" } as const;
const everyMinute = { kind: "every", everyMs: MINUTE } as const;

function job(fields: Record<string, unknown>): JobRecord {
  const base = { name: "test", schedule: everyMinute, sessionTarget: "isolated", payload: turn };
  return makeJob(ScheduleJobInput.parse({ ...base, ...fields }), made);
}

function recordOf(change: Change | null): JobRecord {
  assert.ok(change?.record, "the job is changed and still there");
  return change.record;
}

function ended(change: Change | null, status: "ok" | "error", at: number): Change {
  const record = recordOf(change);
  const [run] = record.active;
  assert.ok(run);
  const end = { status, endedAtMs: at, ...(status === "error" && { error: "no" }) } as const;
  return endRun(record, run, end, 3);
}

test("refuses a distance of less than a second, and runs older jobs that have one once a second", () => {
  const fast = { kind: "every", everyMs: 1 } as const;
  const refused = { name: "JobProblem", message: /everyMs is 1, .*1000 \(one second\)/ };
  assert.throws(() => job({ schedule: fast }), refused);
  assert.throws(() => patchJob(job({}), { schedule: fast }, made), refused);
  const { job: stored, ...rest } = job({});
  const older = { ...rest, job: { ...stored, schedule: fast } };
  const renamed = patchJob(older, { name: "renamed" }, { ...made, now: NOW + 5_000 });
  assert.equal(renamed.job.name, "renamed");
  assert.equal(nextTime(renamed.job, NOW + 10), NOW + 1_000);
  assert.equal(missedTimes(renamed.job, NOW, NOW + 5_000), 5);
});

test("a due time moves on only together with its run or a skip entry, whatever the clock does [F25] [complaint-1]", () => {
  for (const overlap of ["skip", "queue", "parallel"])
    for (const catchUp of ["once", "skip"]) {
      let record = job({ overlap, catchUp });
      let now = NOW;
      let accounted = 0;
      for (const step of [10, 50_000, 70_000, 600_000, 61_000, 1, 3_600_000, 60_000]) {
        now += step;
        const due = record.job.state.nextRunAtMs ?? 0;
        const change = takeDue(record, now, settings);
        const next = change?.record ?? record;
        const moved = ((next.job.state.nextRunAtMs ?? 0) - due) / MINUTE;
        const begun = next.active.length - record.active.length;
        const skipped = (change?.entries ?? []).reduce(
          (sum, { missed = 0 }) => sum + missed + 1,
          0,
        );
        assert.equal(begun + skipped, moved, `${overlap} ${catchUp} after ${step} ms`);
        accounted += moved;
        record = next;
        if (step === 600_000 && record.active.length > 0)
          record = recordOf(ended({ record, entries: [], events: [] }, "ok", now));
      }
      assert.ok(accounted > 0);
    }
});

test("the run of a due time has one id, however often it is begun", () => {
  const record = job({});
  const [first] = recordOf(takeDue(record, NOW + MINUTE, settings)).active;
  const [second] = recordOf(takeDue(record, NOW + MINUTE + 900, settings)).active;
  assert.equal(first?.runId, second?.runId);
  assert.match(first?.runId ?? "", /^team-a~cron-[0-9a-f]{16}-[0-9a-z]+$/);
});

test("the run of a job has the job's model and level of thinking [F25]", () => {
  const said = { model: "scripted/plan", thinking: "high" };
  const [run] = recordOf(
    takeDue(job({ payload: { ...turn, ...said } }), NOW + MINUTE, settings),
  ).active;
  assert.deepEqual([run?.start.model, run?.start.thinking], ["scripted/plan", "high"]);
});

test("after a downtime there is one run, or none, as the job is configured", () => {
  const later = NOW + 10 * MINUTE;
  const once = takeDue(job({ catchUp: "once" }), later, settings);
  assert.equal(recordOf(once).active.length, 1);
  assert.deepEqual(
    once?.entries.map(({ status, missed }) => [status, missed]),
    [["skipped", 8]],
  );
  const skip = takeDue(job({ catchUp: "skip" }), later, settings);
  assert.equal(recordOf(skip).active.length, 0);
  assert.deepEqual(
    skip?.entries.map(({ status, missed }) => [status, missed]),
    [["skipped", 9]],
  );
});

test("while a run is under way the next due time is skipped, waits, or runs beside it", () => {
  const second = (overlap: string) => {
    const record = recordOf(takeDue(job({ overlap }), NOW + MINUTE, settings));
    return takeDue(record, NOW + 2 * MINUTE, settings);
  };
  assert.equal(second("skip")?.entries[0]?.status, "skipped");
  assert.equal(second("queue"), null);
  assert.equal(recordOf(second("parallel")).active.length, 2);
});

test("a one-shot stays due until it ended ok, and then is removed", () => {
  const record = job({ schedule: { kind: "at", at: new Date(NOW + 1_000).toISOString() } });
  const failed = recordOf(ended(takeDue(record, NOW + 1_000, settings), "error", NOW + 2_000));
  assert.equal(failed.job.state.nextRunAtMs, NOW + 1_000);
  assert.equal(takeDue(failed, NOW + 3_000, settings), null, "it is not tried again at once");
  const again = takeDue(failed, NOW + 2_000 + 30_000, settings);
  assert.notEqual(
    recordOf(again).active[0]?.runId,
    recordOf(takeDue(record, NOW + 1_000, settings)).active[0]?.runId,
  );
  const done = ended(again, "ok", NOW + 40_000);
  assert.equal(done.record, null);
  assert.deepEqual(
    done.entries.map(({ status }) => status),
    ["ok"],
  );
  const kept = job({
    deleteAfterRun: false,
    schedule: { kind: "at", at: new Date(NOW + 1_000).toISOString() },
  });
  const over = recordOf(ended(takeDue(kept, NOW + 1_000, settings), "ok", NOW + 2_000));
  assert.equal(over.job.enabled, false);
  assert.equal(over.job.state.nextRunAtMs, undefined);
});

test("three errors of the schedule disable the job, with an entry and an event", () => {
  let record = job({ schedule: { kind: "cron", expr: "* * * * *", tz: "UTC" } });
  // A zone that a new version of its data does not have.
  record = {
    ...record,
    job: { ...record.job, schedule: { ...record.job.schedule, tz: "Gone/Zone" } },
  };
  let change: Change | null = null;
  for (let tries = 1; tries <= 3; tries += 1) {
    change = takeDue(record, NOW + tries * 2 * MINUTE, settings);
    record = recordOf(change);
    assert.equal(record.job.enabled, tries < 3);
  }
  assert.deepEqual(
    change?.events.map(({ kind }) => kind),
    ["skipped", "disabled"],
  );
  assert.equal(change?.entries.length, 1);
});

test("a series of failures causes an alert", () => {
  let record = job({});
  const reported: string[] = [];
  for (let round = 1; round <= 4; round += 1) {
    const change = ended(
      takeDue(record, NOW + round * MINUTE, settings),
      "error",
      NOW + round * MINUTE + 1,
    );
    reported.push(change.events.map(({ kind }) => kind).join(" "));
    record = recordOf(change);
  }
  assert.deepEqual(reported, ["finished", "finished", "finished failing", "finished"]);
  assert.equal(record.job.state.consecutiveErrors, 4);
});

test("an answer that could not be delivered is an error unless the job has bestEffort", () => {
  const status = (bestEffort: boolean) => {
    const record = job({ delivery: { mode: "webhook", to: "https://example.com/x", bestEffort } });
    const change = ended(takeDue(record, NOW + MINUTE, settings), "ok", NOW + MINUTE + 5);
    const [run] = recordOf(change).active;
    assert.ok(run?.end && run.phase === "delivering");
    const delivered = { status: "not-delivered", error: "404" } as const;
    const closed = closeRun(
      recordOf(change),
      { ...run, end: run.end },
      { delivered, now: NOW, alertAfter: 3 },
    );
    return closed.entries[0]?.status;
  };
  assert.deepEqual([status(true), status(false)], ["ok", "error"]);
});

test("ANNOUNCE_SKIP is an answer by itself, and a text like any other inside of one", () => {
  const phase = (output: string) => {
    const record = job({ delivery: { mode: "webhook", to: "https://example.com/x" } });
    const begun = recordOf(takeDue(record, NOW + MINUTE, settings));
    const [run] = begun.active;
    assert.ok(run);
    return recordOf(endRun(begun, run, { status: "ok", output, endedAtMs: NOW }, 3)).active.length;
  };
  assert.equal(phase("ANNOUNCE_SKIP\n"), 0);
  assert.equal(phase("the word ANNOUNCE_SKIP is in my instructions"), 1);
});

test("a run by hand leaves the due time where it is", () => {
  const record = job({});
  const forced = startForced(record, NOW + 5, settings);
  assert.equal(recordOf(forced).job.state.nextRunAtMs, record.job.state.nextRunAtMs);
});

test("an answer is announced, an empty one is not, and failures in a row are announced once", () => {
  const record = job({ delivery: { mode: "announce", channel: "telegram", to: "user:1" } });
  const due = recordOf(takeDue(record, NOW + MINUTE, settings));
  const [run] = due.active;
  assert.ok(run);
  const phaseAfter = (from: JobRecord, end: Record<string, unknown>) =>
    recordOf(endRun(from, run, { status: "ok", endedAtMs: NOW, ...end }, 3)).active[0]?.phase;
  assert.equal(phaseAfter(due, { output: "sunny" }), "delivering");
  for (const output of ["", " ANNOUNCE_SKIP\n"])
    assert.equal(phaseAfter(due, { output }), undefined);
  assert.equal(phaseAfter(due, { status: "error" }), "delivering");
  const state = { ...due.job.state, consecutiveErrors: 1 };
  const failing = { ...due, job: { ...due.job, state } };
  assert.equal(phaseAfter(failing, { status: "error" }), undefined);
});

test("an impossible job is refused in the words of the specification [F25][F26]", () => {
  const problems: [Record<string, unknown>, string][] = [
    [{ sessionTarget: "main" }, 'main cron jobs require payload.kind="systemEvent"'],
    [
      { payload: { kind: "systemEvent", text: "x" } },
      'isolated cron jobs require payload.kind="agentTurn"',
    ],
    [
      {
        sessionTarget: "main",
        payload: { kind: "systemEvent", text: "x" },
        delivery: { mode: "announce" },
      },
      'cron channel delivery config is only supported for sessionTarget="isolated"',
    ],
    [
      { delivery: { mode: "announce", channel: "last", to: "user:1" } },
      'delivery.channel="last" is where you wrote last, so there is no delivery.to or delivery.accountId beside it',
    ],
    [
      { delivery: { mode: "announce", channel: "Telegram", to: "user:1" } },
      "cron announce delivery requires delivery.channel to name a channel, such as telegram, or last",
    ],
    [
      { delivery: { mode: "announce", channel: "telegram", to: "1" } },
      "cron announce delivery requires delivery.to to be user:ID, group:ID or channel:ID",
    ],
    [
      { delivery: { mode: "webhook", to: "ftp://x" } },
      "cron webhook delivery requires delivery.to to be a valid http(s) URL",
    ],
  ];
  for (const [fields, message] of problems) assert.throws(() => job(fields), { message });
  assert.ok(job({ delivery: { mode: "announce", channel: "last" } }));
});

test("a patch keeps a due time that has passed, unless the schedule changes; a main job loses fields that it may not have [F26]", () => {
  const record = job({ delivery: { mode: "none" } });
  const later = { now: NOW + 5 * MINUTE, hasAgent: true };
  assert.equal(patchJob(record, { name: "other" }, later).job.state.nextRunAtMs, NOW + MINUTE);
  const moved = patchJob(record, { schedule: { kind: "every", everyMs: 2 * MINUTE } }, later);
  assert.equal(moved.job.state.nextRunAtMs, NOW + 6 * MINUTE);
  const main = patchJob(
    record,
    { sessionTarget: "main", payload: { kind: "systemEvent", text: "x" } },
    later,
  );
  assert.equal(main.job.delivery, undefined);
});
