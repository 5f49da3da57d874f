import assert from "node:assert/strict";
import { test } from "node:test";
import { Condition } from "../schema/condition-schema.ts";
import { compileCondition, type Verdict } from "./conditions.ts";

type Case = readonly [value: unknown, expected: Verdict];

/** Judges a call whose argument `x` has this value; `undefined` leaves it out. */
function judge(condition: object, value: unknown): Verdict {
  const compiled = compileCondition(Condition.parse({ arg: "/x", ...condition }));
  return compiled.judge(value === undefined ? {} : { x: value });
}

function table(condition: object, cases: readonly Case[]): void {
  for (const [value, expected] of cases) {
    const shown = JSON.stringify(value)?.slice(0, 60) ?? "nothing";
    assert.equal(judge(condition, value), expected, `${JSON.stringify(condition)} of ${shown}`);
  }
}

test("eq compares values of its own type and cannot compare others", () => {
  table({ op: "eq", value: "a" }, [
    ["a", "holds"],
    ["A", "fails"],
    ["", "fails"],
    [5, "incomparable"],
    [null, "incomparable"],
    [["a"], "incomparable"],
    [{ a: 1 }, "incomparable"],
    [undefined, "missing"],
  ]);
  table({ op: "eq", value: 5 }, [
    [5, "holds"],
    [5.5, "fails"],
    ["5", "incomparable"],
  ]);
  table({ op: "eq", value: null }, [
    [null, "holds"],
    [0, "incomparable"],
  ]);
  table({ op: "eq", value: true }, [
    [true, "holds"],
    [false, "fails"],
    ["true", "incomparable"],
  ]);
});

test("in cannot compare a type that its list does not have", () => {
  table({ op: "in", value: ["a", "b", 1] }, [
    ["b", "holds"],
    [1, "holds"],
    ["c", "fails"],
    [2, "fails"],
    [true, "incomparable"],
    [["a"], "incomparable"],
    [undefined, "missing"],
  ]);
});

test("prefix and glob compare texts, case-sensitively, and a star crosses slashes", () => {
  table({ op: "prefix", value: "acme/" }, [
    ["acme/site", "holds"],
    ["Acme/site", "fails"],
    ["acme", "fails"],
    [["acme/site"], "incomparable"],
  ]);
  table({ op: "glob", value: "acme/*" }, [
    ["acme/site/deep", "holds"],
    ["acme", "fails"],
    [7, "incomparable"],
    [undefined, "missing"],
  ]);
});

test("lte and gte compare numbers, bounds included, and never read a text as one", () => {
  table({ op: "lte", value: 100 }, [
    [100, "holds"],
    [100.5, "fails"],
    ["5", "incomparable"],
    [null, "incomparable"],
    [undefined, "missing"],
  ]);
  table({ op: "gte", value: -1.5 }, [
    [-1.5, "holds"],
    [-2, "fails"],
    [true, "incomparable"],
  ]);
});

test("maxLength counts code points of texts and entries of arrays", () => {
  table({ op: "maxLength", value: 3 }, [
    ["abc", "holds"],
    ["abcd", "fails"],
    ["🙂🙂🙂", "holds"],
    ["🙂🙂🙂🙂", "fails"],
    ["x".repeat(1_000_000), "fails"],
    [[1, 2, 3], "holds"],
    [[1, 2, 3, 4], "fails"],
    [3, "incomparable"],
    [{}, "incomparable"],
  ]);
});

test("pathWithin resolves the path first and cannot compare an ambiguous one", () => {
  table({ op: "pathWithin", value: "/data" }, [
    ["/data/a", "holds"],
    ["/data/../etc/passwd", "fails"],
    ["a", "incomparable"],
    ["~/a", "incomparable"],
    [["/data/a"], "incomparable"],
    [undefined, "missing"],
  ]);
});

test("absent holds for an argument that is not there, and null is there", () => {
  table({ op: "absent" }, [
    [undefined, "holds"],
    [null, "fails"],
    ["", "fails"],
  ]);
});

test("an argument of the wrong shape for the rule's pointer cannot be compared", () => {
  for (const condition of [{ op: "eq", value: true }, { op: "absent" }]) {
    const { judge: judgeNested } = compileCondition(
      Condition.parse({ arg: "/options/force", ...condition }),
    );
    assert.equal(judgeNested({ options: "force" }), "incomparable");
    assert.equal(judgeNested({ options: null }), "incomparable");
  }
});

test("texts are compared in Unicode's composed form", () => {
  const composed = "caf\u00e9";
  const decomposed = "cafe\u0301";
  for (const op of ["eq", "prefix", "glob"]) {
    assert.equal(judge({ op, value: decomposed }, composed), "holds", op);
    assert.equal(judge({ op, value: composed }, decomposed), "holds", op);
  }
});

test("a text of more than 16,384 characters cannot be compared", () => {
  const long = "a".repeat(16_385);
  for (const op of ["eq", "prefix", "glob"]) {
    assert.equal(judge({ op, value: "a" }, long), "incomparable", op);
  }
});

test("the worst glob on the longest text is judged in well under a second", () => {
  const startedAt = performance.now();
  judge({ op: "glob", value: `${"*a".repeat(127)}b` }, "a".repeat(16_384));
  assert.ok(performance.now() - startedAt < 1_000);
});
