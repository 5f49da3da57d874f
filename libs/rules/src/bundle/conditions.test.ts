import assert from "node:assert/strict";
import { test } from "node:test";
import { Condition } from "../schema/condition-schema.ts";
import { compileCondition, type Verdict } from "./conditions.ts";

const compiled = (condition: Condition) =>
  compileCondition(condition, { id: "r", effect: "allow" });

type Case = readonly [value: unknown, expected: Verdict];

/** Judges a call whose argument `x` has this value; `undefined` leaves it out. */
function judge(condition: object, value: unknown): Verdict {
  const { judge: judgeArgs } = compiled(Condition.parse({ arg: "/x", ...condition }));
  return judgeArgs({ args: value === undefined ? {} : { x: value } });
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
    const { judge: judgeNested } = compiled(
      Condition.parse({ arg: "/options/force", ...condition }),
    );
    assert.equal(judgeNested({ args: { options: "force" } }), "incomparable");
    assert.equal(judgeNested({ args: { options: null } }), "incomparable");
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
  for (const op of ["eq", "prefix", "glob", "matches"]) {
    assert.equal(judge({ op, value: "a" }, long), "incomparable", op);
  }
});

test("lt and gt leave out their limit", () => {
  table({ op: "lt", value: 5 }, [
    [4.9, "holds"],
    [5, "fails"],
    ["4", "incomparable"],
    [undefined, "missing"],
  ]);
  table({ op: "gt", value: 5 }, [
    [5.1, "holds"],
    [5, "fails"],
    [null, "incomparable"],
  ]);
});

test("not turns a clear answer around, and never one about an argument that is missing or cannot be compared", () => {
  const not = (inner: object, value: unknown) =>
    compiled(Condition.parse({ not: { arg: "/x", ...inner } })).judge({
      args: value === undefined ? {} : { x: value },
    });
  for (const inner of [
    { op: "eq", value: "a" },
    { op: "glob", value: "a*" },
    { op: "matches", value: "a.*" },
    { op: "hostIn", value: ["a.b"] },
    { op: "pathWithin", value: "/a" },
    { op: "lte", value: 1 },
  ]) {
    assert.equal(not(inner, undefined), "missing", inner.op);
    assert.equal(not(inner, ["a"]), "incomparable", inner.op);
  }
  assert.equal(not({ op: "eq", value: "a" }, "a"), "fails");
  assert.equal(not({ op: "eq", value: "a" }, "b"), "holds");
  assert.equal(not({ op: "pathWithin", value: "/a" }, "~/x"), "incomparable");
  assert.equal(not({ op: "absent" }, 1), "holds");
  assert.equal(not({ op: "absent" }, undefined), "fails");
});

test("matches is about the whole text, and a pattern that is catastrophic elsewhere takes linear time", () => {
  table({ op: "matches", value: "[A-Z]{2}[0-9]+|x" }, [
    ["DE89", "holds"],
    ["x", "holds"],
    ["DE89 ", "fails"],
    ["yx", "fails"],
    ["x\n", "fails"],
    [5, "incomparable"],
  ]);
  const startedAt = process.cpuUsage().user;
  for (const value of ["(a*)*b", "(a|aa)+c", "(x+x+)+y", "(.*)*=(.*)*", "([a-z]+)+[0-9]"])
    for (const letter of ["a", "x"])
      assert.equal(judge({ op: "matches", value }, letter.repeat(16_384)), "fails", value);
  assert.ok(process.cpuUsage().user - startedAt < 5_000_000);
});

test("a pattern that cannot be matched in linear time, or is too large, is refused", () => {
  for (const value of ["(a)\\1", "(?=a)b", "(?<!a)b", "a(", "a".repeat(513), "(a{0,200}){0,200}"])
    assert.equal(Condition.safeParse({ arg: "/x", op: "matches", value }).success, false, value);
});

test("two arguments are compared when both can be", () => {
  const two = (op: string, x: unknown, y: unknown) =>
    compiled(Condition.parse({ arg: "/x", op, than: "/y/z" })).judge({
      args: { ...(x !== undefined && { x }), ...(y !== undefined && { y: { z: y } }) },
    });
  assert.deepEqual(
    [two("lte", 1, 2), two("lte", 2, 2), two("lte", 3, 2)],
    ["holds", "holds", "fails"],
  );
  assert.deepEqual(
    [two("lt", 2, 2), two("gt", 3, 2), two("gte", 1, 2)],
    ["fails", "holds", "fails"],
  );
  assert.deepEqual([two("eq", "caf\u00e9", "cafe\u0301"), two("eq", "a", "b")], ["holds", "fails"]);
  for (const [x, y] of [
    [1, "2"],
    ["1", 2],
    [null, null],
    [[1], [1]],
  ])
    assert.equal(two("lte", x, y), "incomparable", JSON.stringify([x, y]));
  assert.equal(two("eq", 1, "1"), "incomparable");
  assert.equal(two("eq", [1], [1]), "incomparable");
  assert.equal(two("lte", 1, undefined), "missing");
  assert.equal(two("lte", undefined, 1), "missing");
  const blocked = compiled(Condition.parse({ arg: "/x", op: "lte", than: "/y/z" }));
  assert.equal(blocked.judge({ args: { x: 1, y: 5 } }), "incomparable");
});

test("hours, weekdays and dates are those of the zone, also when its clocks change", () => {
  const at = (condition: object, time: string | null): Verdict =>
    compiled(Condition.parse({ at: { zone: "Europe/Berlin", ...condition } })).judge({
      args: {},
      facts: time === null ? {} : { nowMs: Date.parse(time) },
    });
  const office = { hours: "08:00-18:00", days: ["mon-fri"] };
  assert.equal(at(office, "2026-11-27T07:00:00Z"), "holds", "Friday, 08:00");
  assert.equal(at(office, "2026-11-27T06:59:59Z"), "fails");
  assert.equal(at(office, "2026-11-27T17:00:00Z"), "fails", "18:00 is over");
  assert.equal(at(office, "2026-11-28T10:00:00Z"), "fails", "Saturday");
  // Summer time ended on 25 October 2026 and began on 29 March.
  assert.equal(at({ hours: "08:00-18:00" }, "2026-10-23T06:30:00Z"), "holds");
  assert.equal(at({ hours: "08:00-18:00" }, "2026-10-26T06:30:00Z"), "fails");
  const night = { hours: "22:00-06:00" };
  assert.deepEqual(
    ["20:59", "21:00", "23:30", "04:59", "05:00"].map((time) =>
      at(night, `2026-01-10T${time}:00Z`),
    ),
    ["fails", "holds", "holds", "holds", "fails"],
  );
  assert.equal(at({ days: ["sat-mon"] }, "2026-11-29T22:59:00Z"), "holds", "Sunday");
  assert.equal(at({ days: ["sun"] }, "2026-11-29T23:00:00Z"), "fails", "Monday in Berlin");
  const holidays = { dates: ["2026-12-24..2027-01-01", "2026-05-01"] };
  assert.equal(at(holidays, "2026-12-23T23:00:00Z"), "holds");
  assert.equal(at(holidays, "2027-01-01T22:59:00Z"), "holds");
  assert.equal(at(holidays, "2027-01-01T23:00:00Z"), "fails");
  assert.equal(at({ hours: "08:00-24:00" }, "2026-11-27T22:59:00Z"), "holds");
  assert.equal(at(office, null), "incomparable", "without a clock no rule may guess the time");
});

test("the worst glob on the longest text is judged in well under a second", () => {
  const startedAt = process.cpuUsage().user;
  judge({ op: "glob", value: `${"*a".repeat(127)}b` }, "a".repeat(16_384));
  assert.ok(process.cpuUsage().user - startedAt < 1_000_000);
});
