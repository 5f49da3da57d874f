import { readFileSync } from "node:fs";
import type { TestNote } from "./test-reporter.ts";

/** The tests of one file, as the notes of its process state them. */
export interface FileReport {
  readonly running: Set<string>;
  readonly skips: TestOutcome[];
  readonly failures: TestOutcome[];
  passed: number;
  /** Null until the file ends. */
  durationMs: number | null;
  cpuSeconds: number | null;
}

export interface TestOutcome {
  readonly test: string;
  /** The reason of a skip, or the failure. */
  readonly text: string;
}

/**
 * Reads the reports of the files of a process that began, in their order: all before the last one have ended. After a file that failed, none begins in its process.
 */
export function readReports(notesFile: string, files: number): FileReport[] {
  const ended: FileReport[] = [];
  let last = newReport();
  // The last line of a killed process may be cut.
  const lines = readFileSync(notesFile, "utf8").split("\n").slice(0, -1);
  for (const note of lines.map((line) => JSON.parse(line) as TestNote)) {
    if (note.at === "begun") last.running.add(note.test);
    else if (note.at === "ended") last.running.delete(note.test);
    else if (note.at === "passed") last.passed += 1;
    else if (note.at === "skipped") last.skips.push(note);
    else if (note.at === "failed") last.failures.push(note);
    else if (note.cpuSeconds !== null) last.cpuSeconds = note.cpuSeconds - cpuSecondsOf(ended);
    if (note.at !== "file") continue;
    last.durationMs = note.durationMs;
    if (ended.length + 1 === files || last.failures.length > 0) break;
    ended.push(last);
    last = newReport();
  }
  return [...ended, last];
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
