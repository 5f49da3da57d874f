import assert from "node:assert/strict";
import { test } from "node:test";
import { listQuery, runsHref, timesOf, totalsQuery } from "../src/core/run-query.ts";

const NOON = new Date(2026, 2, 2, 12, 0, 30).getTime();

test("yesterday is the whole day before in the person's time zone", () => {
  const { from = "", to = "" } = timesOf({ range: "yesterday" }, NOON);
  assert.equal(Date.parse(from), new Date(2026, 2, 1).getTime());
  assert.equal(Date.parse(to), new Date(2026, 2, 2).getTime());
});

test("a range until now begins at a whole minute, and a time that is none is left out", () => {
  const { from = "", to } = timesOf({ range: "1h" }, NOON);
  assert.equal(Date.parse(from), new Date(2026, 2, 2, 11, 0, 0).getTime());
  assert.equal(to, undefined);
  assert.deepEqual(timesOf({ range: "ever", from: "soon", to: "2026-03-01T00:00:00.000Z" }), {
    to: "2026-03-01T00:00:00.000Z",
  });
});

test("the filters of an address are those of the request, and wrong ones are left out", () => {
  const values = { status: "failed,dead,odd", agent: "a", error: "x", label: "k=v", q: "Pay" };
  assert.deepEqual(listQuery({ ...values, sort: "longest" }, {}), {
    limit: 200,
    statuses: ["failed", "dead"],
    agent: "a",
    errorCode: "x",
    labels: ["k=v"],
    text: "Pay",
    sort: "longest",
  });
  assert.deepEqual(listQuery({ status: "odd", sort: "odd" }, {}), { limit: 200 });
});

test("a figure and its link have the same range", () => {
  assert.deepEqual(totalsQuery("7d"), { range: "7d" });
  assert.equal(
    runsHref({ status: "failed,dead", range: "yesterday", agent: "" }),
    "/runs?status=failed%2Cdead&range=yesterday",
  );
  assert.equal(runsHref({}), "/runs");
});
