import type { Outcome } from "./check.ts";

const MARKS = { passed: "ok", failed: "FAILED", skipped: "skipped" } as const;

/** The table for people. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ check, state, seconds, text }) => [
    MARKS[state],
    check.name,
    `${seconds} s`,
    text.split("\n")[0] ?? "",
  ]);
  const widths = [0, 1, 2].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .join("\n");
}

/** JUnit XML as CI systems read it: one suite, a test case for each check. */
export function junitOf(outcomes: readonly Outcome[]): string {
  const count = (state: Outcome["state"]): number =>
    outcomes.filter((outcome) => outcome.state === state).length;
  const seconds = outcomes.reduce((sum, outcome) => sum + outcome.seconds, 0);
  const totals = `tests="${outcomes.length}" failures="${count("failed")}" skipped="${count("skipped")}"`;
  const cases = outcomes.map(({ check, state, seconds: time, text }) => {
    const open = `  <testcase classname="cluster" name="${escape(`${check.name}: ${check.title}`)}" time="${time}">`;
    const inside = {
      passed: `<system-out>${escape(text)}</system-out>`,
      failed: `<failure message="${escape(text.split("\n")[0] ?? "")}">${escape(text)}</failure>`,
      skipped: `<skipped message="${escape(text)}"/>`,
    }[state];
    return `${open}${inside}</testcase>`;
  });
  const suite = `<testsuite name="cluster" ${totals} time="${seconds}">`;
  return ['<?xml version="1.0" encoding="UTF-8"?>', suite, ...cases, "</testsuite>", ""].join("\n");
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll(/[^\t\n\r\u0020-\uFFFD]/g, "?"); // XML 1.0 has no other control characters
}
