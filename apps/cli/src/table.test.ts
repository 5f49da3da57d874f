import assert from "node:assert/strict";
import { test } from "node:test";
import { styleText } from "node:util";
import { screenText, tableLines } from "./table.ts";

const columns = [
  { title: "NAME", value: (row: { name: string; size: number }) => row.name },
  {
    title: "SIZE",
    value: (row: { name: string; size: number }) => String(row.size),
    align: "right" as const,
  },
];

test("aligns words to the left and numbers to the right, without trailing space", () => {
  const rows = [
    { name: "a", size: 5 },
    { name: "longer", size: 1_234 },
  ];
  assert.deepEqual(tableLines(columns, rows), ["NAME    SIZE", "a          5", "longer  1234"]);
});

test("an empty table has its titles", () => {
  assert.deepEqual(tableLines(columns, []), ["NAME  SIZE"]);
});

test("cuts long cells with an ellipsis and puts several lines on one", () => {
  const lines = tableLines(
    [{ title: "TEXT", value: (text: string) => text, maxWidth: 8 }],
    ["one\n  two three"],
  );
  assert.deepEqual(lines, ["TEXT", "one two…"]);
});

test("colours do not count as width", () => {
  const paint = (text: string): string => styleText("red", text, { validateStream: false });
  const [, first, second] = tableLines(
    [
      { title: "A", value: (text: string) => (text === "x" ? paint(text) : text) },
      { title: "B", value: () => "|" },
    ],
    ["x", "yyy"],
  );
  assert.equal(first, `${paint("x")}    |`);
  assert.equal(second, "yyy  |");
});

test("a table gives up what fits no terminal, first from its widest column", () => {
  const pair = [
    { title: "ID", value: (row: { id: string; text: string }) => row.id },
    { title: "TEXT", value: (row: { id: string; text: string }) => row.text, maxWidth: 80 },
  ];
  const long = [{ id: "01M82K2WQ5", text: "a text that is much too long for a narrow terminal" }];
  for (const line of tableLines(pair, long, 40)) assert.ok(line.length <= 40, line);
  assert.match(tableLines(pair, long, 40)[1] ?? "", /^01M82K2WQ5  a text .*…$/);
  assert.deepEqual(tableLines(pair, long, 10), [
    `ID    ${long[0]?.id}`,
    "TEXT  a text that is much too",
    "      long for a narrow",
    "      terminal",
  ]);
  assert.match(tableLines(pair, long, Number.POSITIVE_INFINITY)[1] ?? "", /terminal$/);
});

test("a narrow terminal gets fewer columns, and one field a line when that is not enough", () => {
  const three = [
    { title: "RUN", value: () => "cli~01M8FGRXVWGC16X4W1QFNABT1C" },
    { title: "MODEL", value: () => "scripted/plan", isSpare: true },
    { title: "STATUS", value: (row: string) => row },
  ];
  const rows = ["waiting: approval", "failed"];
  assert.equal(tableLines(three, rows, 80)[0]?.includes("MODEL"), true);
  const narrow = tableLines(three, rows, 60);
  assert.ok(narrow.every((line) => line.length <= 60));
  assert.match(narrow[1] ?? "", /^cli~01M8FGRXVWGC16X4W1QFNABT1C {2}waiting: approval$/);
  assert.deepEqual(tableLines(three, ["failed", "dead"], 36).slice(0, 4), [
    "RUN     cli~01M8FGRXVWGC16X4W1QFNABT1C",
    "MODEL   scripted/plan",
    "STATUS  failed",
    "",
  ]);
});

test("a text is broken at its blanks, as far in as it begins, and a command to copy is not", () => {
  const command = './yard runs fork RUN --step 2 --input "Only the README."';
  assert.equal(
    screenText(`short\n  → the run is over; another one: ${command}\n  ${command}`, 30),
    `short\n  → the run is over; another\n    one:\n    ${command}\n  ${command}`,
  );
  assert.equal(screenText("as wide as it is", Number.POSITIVE_INFINITY), "as wide as it is");
});
