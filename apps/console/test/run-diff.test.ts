import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunMessage } from "@switchyard/client/follow";
import { pairsOf, type Pair } from "../src/run/run-diff.ts";
import type { Span } from "../src/run/run-story.ts";
import type { Word } from "../src/ui/statuses.ts";

interface Given {
  readonly title: string;
  readonly args?: string;
  readonly result?: string;
  readonly status?: Word;
}

/** A completed call. */
function call({ title, args = "sha256:a", result = "fine", status = "done" }: Given): Span {
  const events = [
    { event: "tool-requested", id: 1, data: { argsDigest: args } },
    { event: "tool-completed", id: 2, data: { preview: result } },
  ] as unknown as RunMessage[]; // as much of them as is compared
  return {
    id: `${title} ${args}`,
    kind: "tool",
    title,
    status,
    step: 1,
    startMs: 0,
    endMs: 1,
    detail: "",
    decision: null,
    events,
  };
}

const shown = (pairs: readonly Pair[]): string[] =>
  pairs.map(
    ({ left, right, differs }) =>
      `${left?.title ?? "-"} ${right?.title ?? "-"}${differs.map((word) => `: ${word}`).join("")}`,
  );

test("calls that only one of two runs made stand alone, and the others beside each other", () => {
  const [read, write, list] = ["read", "write", "list"].map((title) => call({ title }));
  assert.ok(read && write && list);
  assert.deepEqual(shown(pairsOf([read, write, list], [read, list])), [
    "read read",
    "write -: only on the left",
    "list list",
  ]);
  assert.deepEqual(shown(pairsOf([read], [list, read])), [
    "- list: only on the right",
    "read read",
  ]);
});

test("two calls of one tool are paired with the one of the same arguments, and say in what they differ", () => {
  const [one, two] = [
    call({ title: "read", args: "sha256:1" }),
    call({ title: "read", args: "sha256:2" }),
  ];
  assert.deepEqual(shown(pairsOf([one, two], [two])), ["read -: only on the left", "read read"]);
  const failed = call({ title: "read", args: "sha256:1", result: "gone", status: "error" });
  assert.deepEqual(shown(pairsOf([one], [failed])), ["read read: status: result"]);
  assert.deepEqual(shown(pairsOf([one], [two])), ["read read: arguments"]);
});

test("how long a call took is no difference, notes are left out, and runs too long to weigh are paired in order", () => {
  const slow = { ...call({ title: "read" }), endMs: 9_000 };
  const note: Span = { ...call({ title: "resumed" }), kind: "note" };
  assert.deepEqual(shown(pairsOf([call({ title: "read" })], [note, slow])), ["read read"]);
  const many = (args: string): Span[] =>
    Array.from({ length: 2_500 }, () => call({ title: "read", args }));
  const pairs = pairsOf(many("sha256:1"), many("sha256:2"));
  assert.equal(pairs.length, 2_500);
  assert.ok(pairs.every(({ differs }) => differs.join() === "arguments"));
});
