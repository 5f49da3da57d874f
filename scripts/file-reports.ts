import { readFileSync } from "node:fs";
import type { TestNote } from "./test-reporter.ts";

/** The tests of one file, as the notes of its process state them. */
export interface FileReport {
  readonly running: Set<string>;
  readonly skips: TestOutcome[];
  readonly failures: TestOutcome[];
  passed: number;
  /** Null until the file ends; a file that has its process to itself ends with it. */
  durationMs: number | null;
  cpuSeconds: number | null;
}

export interface TestOutcome {
  readonly test: string;
  /** The reason of a skip, or the failure. */
  readonly text: string;
}

/**
 * Reads the reports of the files of a process, in their order: `last` is the file that did not end, or the last one of all, and `before` are those before it.
 */
export function readReports(
  notesFile: string,
  files: number,
): { readonly before: readonly FileReport[]; readonly last: FileReport } {
  const before: FileReport[] = [];
  let last = newReport();
  // The last line of a killed process may be cut.
  const lines = readFileSync(notesFile, "utf8").split("\n").slice(0, -1);
  for (const note of lines.map((line) => JSON.parse(line) as TestNote)) {
    if (note.at === "begun") last.running.add(note.test);
    else if (note.at === "ended") last.running.delete(note.test);
    else if (note.at === "passed") last.passed += 1;
    else if (note.at === "skipped") last.skips.push(note);
    else if (note.at === "failed") last.failures.push(note);
    else if (note.cpuSeconds !== null) last.cpuSeconds = note.cpuSeconds - cpuSecondsOf(before);
    if (note.at !== "file") continue;
    last.durationMs = note.durationMs;
    if (before.length + 1 === files) continue;
    before.push(last);
    last = newReport();
  }
  return { before, last };
}

function cpuSecondsOf(reports: readonly FileReport[]): number {
  return reports.reduce((sum, { cpuSeconds }) => sum + (cpuSeconds ?? 0), 0);
}

function newReport(): FileReport {
  return {
    running: new Set(),
    skips: [],
    failures: [],
    passed: 0,
    durationMs: null,
    cpuSeconds: null,
  };
}
