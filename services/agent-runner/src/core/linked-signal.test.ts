import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { linkSignals } from "./linked-signal.ts";

test("aborts with the first of its sources, for the same reason, and then no more", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const linked = linkSignals(first.signal, second.signal);
  assert.equal(linked.signal.aborted, false);
  second.abort("second");
  first.abort("first");
  linked.abort("by hand");
  assert.equal(linked.signal.reason, "second");
});

test("is aborted from the beginning when a source is, and at any time by a call", () => {
  const linked = linkSignals(new AbortController().signal, AbortSignal.abort("before"));
  assert.equal(linked.signal.reason, "before");
  const own = linkSignals(new AbortController().signal);
  own.abort("by hand");
  assert.equal(own.signal.reason, "by hand");
});

test("leaves no listener on a source that lives on, and follows it no more", () => {
  const process = new AbortController();
  const linked = linkSignals(process.signal);
  assert.equal(getEventListeners(process.signal, "abort").length, 1);
  linked.release();
  assert.equal(getEventListeners(process.signal, "abort").length, 0);
  process.abort("late");
  assert.equal(linked.signal.aborted, false);
});
