import { ServiceError } from "@switchyard/contracts/errors";
import { StoreError } from "@switchyard/service/store-error";
import assert from "node:assert/strict";
import { test } from "node:test";
import { departureOf, type Departure } from "./leave-run.ts";
import { HandOver, Suspended } from "../core/interruption.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import { FenceLost } from "../journal/run-store.ts";

const calm = { isLost: false, isDeliveryAborted: false, isStopping: false };
const stopping = { ...calm, isStopping: true };
const aborted = { ...calm, isDeliveryAborted: true };
const abort = new DOMException("stop", "AbortError");

test("never touches a run that another runner holds", () => {
  for (const facts of [calm, stopping, aborted])
    assert.equal(departureOf(new FenceLost("x"), facts), "lost");
  for (const error of [abort, new Suspended("x")])
    assert.equal(departureOf(error, { ...aborted, isLost: true }), "lost");
});

test("releases a run that was left because its owner could not be determined", () => {
  assert.equal(departureOf(abort, aborted), "cut-off");
  assert.equal(departureOf(new StoreError("x"), aborted), "cut-off");
});

test("distinguishes hand-overs, outages, broken journals and faults", () => {
  const cases: [unknown, typeof calm, Departure][] = [
    [new HandOver("x"), stopping, "handed-over"],
    [abort, stopping, "handed-over"],
    [new Error("cut off"), { ...aborted, isStopping: true }, "handed-over"],
    [new TypeError("bug"), stopping, "faulted"],
    [new Suspended("x"), calm, "suspended"],
    [new StoreError("x"), calm, "suspended"],
    [new ServiceError("no_responders", "x"), calm, "suspended"],
    [new ServiceError("policy_unavailable", "x"), calm, "suspended"],
    [new ServiceError("invalid_reply", "x"), calm, "faulted"],
    [new JournalCorrupt("x"), calm, "corrupt"],
    [new TypeError("bug"), calm, "faulted"],
  ];
  for (const [error, facts, expected] of cases) {
    assert.equal(departureOf(error, facts), expected, `${String(error)} ${JSON.stringify(facts)}`);
  }
});
