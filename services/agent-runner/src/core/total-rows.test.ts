import assert from "node:assert/strict";
import { test } from "node:test";
import { readRow, ROW_COLUMNS, rowFilter, type RunRow } from "./run-row.ts";
import { totalRows } from "./total-rows.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const HOUR_MS = 3_600_000;
const DAY = { fromMs: NOON - 24 * HOUR_MS, toMs: NOON };

test("counts runs by status, agent, model, requester and error code, and sums cost and tokens", () => {
  const rows = [
    row({ agent: "a", costUsd: 0.5, inputTokens: 10, outputTokens: 1 }),
    row({ agent: "a", status: "failed", errorCode: "limit_exceeded", costUsd: null }),
    row({ agent: "b", status: "dead", errorCode: "poisonous", model: "x/y" }),
    row({ agent: "b", status: "running", requester: "team-b" }),
  ];
  const totals = totalRows(rows, DAY);
  const { total, statuses, agents, models, requesters, errors } = totals;
  assert.deepEqual(total, {
    runs: 4,
    failed: 2,
    costUsd: 0.5,
    unpriced: 1,
    inputTokens: 10,
    outputTokens: 1,
  });
  assert.deepEqual(statuses, {
    running: 1,
    waiting: 0,
    succeeded: 1,
    failed: 1,
    cancelled: 0,
    dead: 1,
  });
  const counts = (all: typeof agents) => all.map(({ name, runs, failed }) => [name, runs, failed]);
  assert.deepEqual(counts(agents), [
    ["a", 2, 1],
    ["b", 2, 1],
  ]);
  assert.deepEqual(counts(models), [
    ["p/m", 3, 1],
    ["x/y", 1, 1],
  ]);
  assert.deepEqual(counts(requesters), [
    ["team-a", 3, 2],
    ["team-b", 1, 0],
  ]);
  assert.deepEqual(counts(errors), [
    ["limit_exceeded", 1, 1],
    ["poisonous", 1, 1],
  ]);
});

test("counts at most 20 names, and all others together", () => {
  const rows = Array.from({ length: 30 }, (_, n) => row({ agent: `agent-${n}`, costUsd: 1 }));
  const { agents } = totalRows([...rows, row({ agent: "agent-29" })], DAY);
  assert.equal(agents.length, 21);
  assert.deepEqual([agents[0]?.name, agents[0]?.runs], ["agent-29", 2]);
  assert.deepEqual([agents[20]?.name, agents[20]?.runs, agents[20]?.costUsd], [null, 10, 10]);
});

test("computes percentiles over ended runs, and buckets that hold every run", () => {
  const rows = Array.from({ length: 100 }, (_, n) =>
    row({ createdMs: NOON - 1 - n * 800_000, tookMs: (n + 1) * 10 }),
  );
  const { durationMs, bucketMs, buckets } = totalRows(
    [...rows, row({ status: "running", createdMs: DAY.fromMs })],
    DAY,
  );
  assert.deepEqual(durationMs, { p50: 500, p90: 900, p95: 950, p99: 990, max: 1_000 });
  assert.equal(bucketMs, HOUR_MS / 2);
  assert.equal(buckets.length, 48);
  assert.equal(
    buckets.reduce((sum, { runs }) => sum + runs, 0),
    101,
  );
  assert.deepEqual(totalRows([], DAY).durationMs.p95, null);
});

test("a range of any length has at most 61 buckets", () => {
  for (const hours of [1, 24, 168, 24 * 400]) {
    const { buckets } = totalRows([], { fromMs: NOON - hours * HOUR_MS + 1, toMs: NOON + 1 });
    assert.ok(buckets.length <= 61 && buckets.length >= 24, `${hours} h: ${buckets.length}`);
  }
});

test("a filter selects by every field, and text in letters of both cases", () => {
  const wanted = row({ labels: { ticket: "4711" }, inputStart: "Pay the Invoice" });
  const fits = (filter: Parameters<typeof rowFilter>[0]): boolean => rowFilter(filter)(wanted);
  assert.ok(fits({}));
  assert.ok(fits({ text: "pay THE invoice", labels: ["ticket=4711"], statuses: ["succeeded"] }));
  assert.ok(fits({ from: new Date(wanted.createdMs).toISOString(), agent: "a", model: "p/m" }));
  assert.ok(!fits({ to: new Date(wanted.createdMs).toISOString() }));
  assert.ok(!fits({ text: "receipt" }));
  assert.ok(!fits({ labels: ["ticket=1"] }));
  assert.ok(!fits({ statuses: ["failed", "dead"] }));
  assert.ok(!fits({ errorCode: "limit_exceeded" }));
});

test("reads the columns of runs of all versions", () => {
  const read = (columns: Readonly<Record<string, string>>): RunRow | null =>
    readRow(
      "team-a~x",
      ROW_COLUMNS.map((name) => columns[name] ?? null),
    );
  assert.equal(read({}), null);
  const at = "2026-03-01T00:00:00.000Z";
  const first = { agent: "a", requester: "me", model: "p/m", createdAt: at, updatedAt: at };
  const old = read({ ...first, status: "failed" });
  assert.equal(old?.errorCode, "unknown");
  assert.equal(old.costUsd, undefined);
  const failure = JSON.stringify({ code: "journal_corrupt", message: "…" });
  assert.equal(read({ ...first, status: "dead", failure })?.errorCode, "journal_corrupt");
  // A retried run has the code of its last failure until it fails again.
  assert.equal(read({ ...first, status: "running", errorCode: "limit_exceeded" })?.errorCode, null);
});

function row({ tookMs = 1_000, ...facts }: Partial<RunRow> & { tookMs?: number }): RunRow {
  const createdMs = facts.createdMs ?? NOON - HOUR_MS;
  return {
    runId: "team-a~x",
    agent: "a",
    requester: "team-a",
    model: "p/m",
    status: "succeeded",
    isSuspended: false,
    createdMs,
    updatedMs: createdMs + tookMs,
    costUsd: undefined,
    inputTokens: 0,
    outputTokens: 0,
    errorCode: null,
    labels: {},
    inputStart: "",
    ...facts,
  };
}
