import { appendFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

/**
 * A reporter for `node --test` that stays readable with a thousand tests: a line for each file, every
 * failure whole, every skip with its reason, and a closing line with the totals.
 */
export default async function* testReporter(
  source: AsyncIterable<TestEvent>,
): AsyncGenerator<string> {
  const failures: string[] = [];
  const skips: string[] = [];
  for await (const event of source) {
    switch (event.type) {
      case "test:fail":
        failures.push(failureText(event.data));
        noteFailed(event.data);
        break;
      case "test:pass":
        if (event.data.skip !== undefined) skips.push(skipText(event.data));
        break;
      case "test:summary":
        yield event.data.file === undefined
          ? totals(event.data.counts, event.data.duration_ms, failures, skips)
          : fileLine(event.data.file, event.data.counts, event.data.duration_ms);
        break;
      default:
        break; // the other events are about progress
    }
  }
}

type Summary = Extract<TestEvent, { type: "test:summary" }>["data"];
type Failure = Extract<TestEvent, { type: "test:fail" }>["data"];
type Pass = Extract<TestEvent, { type: "test:pass" }>["data"];

function fileLine(file: string, counts: Summary["counts"], durationMs: number): string {
  const mark = counts.tests === counts.passed + counts.skipped ? "✔" : "✖";
  const seconds = (durationMs / 1000).toFixed(1).padStart(5);
  return `${mark} ${String(counts.passed).padStart(4)} ${seconds} s  ${relative(process.cwd(), file)}\n`;
}

function totals(
  counts: Summary["counts"],
  durationMs: number,
  failures: string[],
  skips: string[],
): string {
  const failed = counts.tests - counts.passed - counts.skipped - counts.todo;
  const { passed, skipped: left } = counts;
  note("totals", JSON.stringify({ passed, failed, skipped: left }));
  const skipLines = skips.length === 0 ? "" : `\nSkipped:\n${skips.join("")}`;
  const failureLines = failures.length === 0 ? "" : `\nFailures:\n${failures.join("\n")}`;
  const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
  return `${skipLines}${failureLines}\n${counts.passed} passed, ${failed} failed${skipped}\n(${(durationMs / 1000).toFixed(1)} s)\n`;
}

function skipText(data: Pass): string {
  const reason = typeof data.skip === "string" ? data.skip : "no reason given";
  return `  ${where(data)} ${data.name}: ${reason}\n`;
}

function failureText(data: Failure): string {
  const { error } = data.details;
  const cause =
    error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : undefined;
  return `  ${where(data)} ${data.name}\n${indent(cause ?? String(error.cause ?? error.message))}\n`;
}

/** For whoever started the tests: the files to look at again. */
function noteFailed({ file }: Failure): void {
  if (file !== undefined) note("failed", relative(process.cwd(), file));
}

function note(name: string, line: string): void {
  const directory = process.env["TEST_NOTES"];
  if (directory !== undefined) appendFileSync(join(directory, name), `${line}\n`);
}

function where(data: { file?: string | undefined; line?: number | undefined }): string {
  return data.file === undefined ? "" : `${relative(process.cwd(), data.file)}:${data.line ?? 0}`;
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `      ${line}`)
    .join("\n");
}
