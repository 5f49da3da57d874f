import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobSource } from "@switchyard/contracts/scheduler/schedules";
import { declareJob, type Declaration } from "@switchyard/project/jobs/declare-job";
import type { JobRecord } from "@switchyard/project/jobs/job-record";
import { fits, type MessageCondition } from "@switchyard/project/jobs/message-filter";
import { checkTemplate, documentOf, fill } from "@switchyard/project/jobs/message-template";
import { isOfTriggeredRun, jobOfRun, takeMessage } from "./take-message.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const settings = { heartbeatMs: 1_800_000, agent: undefined };

function declaration(schedule: JobSource, fields: object = {}): Declaration {
  const rules = { enabled: true, deleteAfterRun: false, wakeMode: "now" } as const;
  const job = {
    ...rules,
    name: "a",
    agentId: "clerk",
    schedule,
    sessionTarget: "isolated" as const,
    payload: { kind: "agentTurn" as const, message: "hello" },
    overlap: "skip" as const,
    catchUp: "once" as const,
  };
  return { name: "a", owner: "team-a", job: { ...job, ...fields } };
}

function declared(from: JobRecord | null, wanted: Declaration, now = NOW): JobRecord {
  const record = declareJob(from, wanted, now)?.record;
  assert.ok(record);
  return record;
}

const hourly = { kind: "every", everyMs: 3_600_000 } as const;
const orders = { kind: "message", subject: "orders" } as const;

test("the same declaration changes nothing, and another one keeps active runs and due times", () => {
  const first = declared(null, declaration(hourly));
  assert.equal(first.job.declaredAs, "a");
  assert.equal(declareJob(first, declaration(hourly), NOW + 1), null);
  const paused = { ...first, job: { ...first.job, enabled: false } };
  assert.equal(declareJob(paused, declaration(hourly), NOW + 1), null, "a pause stays");
  const later = declared(first, declaration(hourly, { description: "x" }), NOW + 60_000);
  assert.equal(later.job.id, first.job.id);
  assert.equal(later.job.state.nextRunAtMs, first.job.state.nextRunAtMs);
  assert.ok(later.job.updatedAtMs > first.job.updatedAtMs);
  const daily = declared(later, declaration({ ...hourly, everyMs: 86_400_000 }), NOW + 60_000);
  assert.equal(daily.job.state.nextRunAtMs, NOW + 86_400_000);
  assert.equal(daily.job.description, undefined);
});

test("a time that had passed when it was declared is skipped, with an event", () => {
  const passed = { kind: "at", at: "2026-01-01T00:00:00Z" } as const;
  const change = declareJob(null, declaration(passed), NOW);
  assert.equal(change?.record?.job.enabled, false);
  assert.deepEqual(
    change?.entries.map(({ status, error }) => [status, error]),
    [["skipped", "its time had passed when it was declared"]],
  );
});

test("a message begins one run, named by its key, and no more at a time than the trigger wants", () => {
  const record = declared(null, declaration(orders));
  assert.equal(record.job.state.nextRunAtMs, undefined);
  const message = { key: "o-1", input: "order 1", concurrency: 1, now: NOW };
  const step = takeMessage(record, message, settings);
  assert.ok(step.outcome === "begin" && step.change.record !== null);
  const [run] = step.change.record.active;
  assert.match(run?.runId ?? "", /^team-a~trig-[0-9a-f]{16}-[0-9a-f]{24}$/);
  assert.equal(run?.start.input, "order 1");
  assert.equal(jobOfRun(run?.start.runId ?? ""), record.job.id);
  assert.equal(takeMessage(step.change.record, message, settings).outcome, "repeated");
  const other = { ...message, key: "o-2" };
  assert.equal(takeMessage(step.change.record, other, settings).outcome, "busy");
  const off = { ...record, job: { ...record.job, enabled: false } };
  assert.equal(takeMessage(off, message, settings).outcome, "off");
});

test("events of runs that messages began are recognised by their subject", () => {
  assert.ok(isOfTriggeredRun("yard.evt.run.team-a.trig-0123456789abcdef-x.failed"));
  assert.ok(!isOfTriggeredRun("yard.evt.run.team-a.mine.failed"));
  assert.ok(!isOfTriggeredRun("shop.orders.x.y.trig-1"));
});

test("a template is filled from subject and body, and a missing value is reported", () => {
  const document = documentOf("shop.orders.17.paid", '{"id":"o-17","items":["Lamp"],"total":5}');
  const filled = (text: string) => {
    checkTemplate(text);
    return fill(text, document, "input");
  };
  assert.deepEqual(filled("{{/body/id}} of {{ /tokens/2 }}: {{/body/items}} {{/body/total}}"), {
    text: 'o-17 of 17: ["Lamp"] 5',
  });
  assert.deepEqual(filled("{{/body/constructor}}"), {
    problem:
      'input: pointer /body/constructor finds nothing at "constructor"; there is id, items, total',
  });
  assert.deepEqual(filled("{{/body/items | json}} {{/body/id | trim}}"), {
    text: '["Lamp"] o-17',
  });
  assert.deepEqual(fill("{{/body}}", documentOf("a", "plain {{/subject}}"), "input"), {
    text: "plain {{/subject}}",
  });
  assert.throws(() => checkTemplate("{{/headers/x}}"), /is not a part of a message/);
  assert.throws(() => checkTemplate("{{/body/id"), /without its }}/);
  assert.throws(() => checkTemplate("{{/body/id | shout}}"), /there is no filter "shout"/);
});

test("all conditions have to match, and a missing field matches only absent", () => {
  const document = documentOf("a.b", '{"state":"paid","total":100}');
  const fit = (...conditions: MessageCondition[]) => fits(document, conditions);
  assert.ok(fit());
  assert.ok(
    fit(
      { field: "/body/state", op: "eq", value: "paid" },
      { field: "/body/total", op: "gte", value: 100 },
    ),
  );
  assert.ok(
    fit({ field: "/tokens/1", op: "in", value: ["b", "c"] }, { field: "/body/x", op: "absent" }),
  );
  assert.ok(fit({ field: "/body/state", op: "prefix", value: "pa" }));
  assert.ok(!fit({ field: "/body/total", op: "lte", value: 99 }));
  assert.ok(!fit({ field: "/body/x", op: "eq", value: null }));
  assert.ok(!fit({ field: "/body/total", op: "eq", value: "100" }));
  assert.ok(!fit({ field: "/body/state", op: "absent" }));
});
