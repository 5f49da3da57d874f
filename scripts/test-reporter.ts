import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

/** An event in a process of test files, as `file-reports.ts` reads it. */
export type TestNote =
  | { readonly at: "begun"; readonly test: string }
  | { readonly at: "ended"; readonly test: string }
  | { readonly at: "passed"; readonly test: string }
  /** `text` is the reason of a skip, or what a failed test threw. */
  | { readonly at: "skipped"; readonly test: string; readonly text: string }
  | { readonly at: "failed"; readonly test: string; readonly text: string }
  /** The end of a file; `cpuSeconds` is the processor time of the process until then. */
  | { readonly at: "file"; readonly durationMs: number; readonly cpuSeconds: number | null }
  /** Processor time of the process and of its ended children, in seconds. */
  | { readonly at: "exit"; readonly cpuSeconds: number };

/** The test files of the process (`test-group.ts`). */
const files = new Set(process.argv.slice(2));

/** A reporter that writes a line of JSON for each event to the file TEST_NOTES, at once: the process may be killed. */
export default async function* testReporter(
  source: AsyncIterable<TestEvent>,
): AsyncGenerator<string> {
  const file = process.env["TEST_NOTES"];
  if (file === undefined) throw new Error("TEST_NOTES is not set");
  process.on("exit", () => {
    const cpuSeconds = cpuSecondsOfTree();
    if (cpuSeconds !== null)
      appendFileSync(file, `${JSON.stringify({ at: "exit", cpuSeconds })}\n`);
  });
  for await (const event of source) {
    for (const note of notesOf(event)) appendFileSync(file, `${JSON.stringify(note)}\n`);
    // A failed test may have left something open that disturbs the files after it or keeps the process alive.
    if (event.type === "test:fail" && isFile(event.data)) process.exit(1);
  }
  yield "";
}

/**
 * Processor time of this process and of the children that it waited for, with theirs; `process.resourceUsage()` leaves children out.
 * Null where there is no `/proc`.
 */
function cpuSecondsOfTree(): number | null {
  try {
    // The name of the program, in brackets, may have spaces. The 14th to 17th fields are the times of the process and of its ended children, in hundredths of a second (USER_HZ).
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return null;
  }
}

function notesOf(event: TestEvent): TestNote[] {
  switch (event.type) {
    case "test:dequeue":
      return isFile(event.data) ? [] : [{ at: "begun", test: titleOf(event.data) }];
    case "test:complete":
      return isFile(event.data) ? [] : [{ at: "ended", test: titleOf(event.data) }];
    case "test:pass":
      return isFile(event.data) ? [endOf(event.data)] : passOf(event.data);
    case "test:fail":
      return isFile(event.data)
        ? [...failureOf(event.data), endOf(event.data)]
        : failureOf(event.data);
    default:
      return []; // the other events are about progress
  }
}

/** Returns true for the test that has a whole file in it. */
function isFile({ name, nesting }: { name: string; nesting: number }): boolean {
  return nesting === 0 && files.has(name);
}

function endOf({ details }: { details: { duration_ms: number } }): TestNote {
  return { at: "file", durationMs: details.duration_ms, cpuSeconds: cpuSecondsOfTree() };
}

function passOf(data: EventData<"test:pass">): TestNote[] {
  if (data.details.type === "suite") return [];
  const { skip } = data;
  const test = titleOf(data);
  if (skip === undefined) return [{ at: "passed", test }];
  return [{ at: "skipped", test, text: typeof skip === "string" ? skip : "no reason given" }];
}

function failureOf(data: EventData<"test:fail">): TestNote[] {
  const { error } = data.details;
  // Each of these has a note of its own.
  if ("failureType" in error && error.failureType === "subtestsFailed") return [];
  const test = isFile(data) ? data.name : titleOf(data);
  return [{ at: "failed", test, text: causeOf(error) }];
}

type EventData<T extends TestEvent["type"]> = Extract<TestEvent, { type: T }>["data"];

function causeOf({ cause, message }: Error): string {
  if (cause instanceof Error) return cause.stack ?? cause.message;
  return typeof cause === "string" ? cause : message;
}

function titleOf(data: { name: string; file?: string | undefined; line?: number | undefined }) {
  const place =
    data.file === undefined ? "" : `${relative(process.cwd(), data.file)}:${data.line} `;
  return `${place}${data.name}`;
}
