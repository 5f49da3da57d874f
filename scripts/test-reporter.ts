import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

/** An event in the process of one test file, as `run-test-file.ts` reads it. */
export type TestNote =
  | { readonly at: "begun"; readonly test: string }
  | { readonly at: "ended"; readonly test: string }
  | { readonly at: "passed"; readonly test: string }
  /** `text` is the reason of a skip, or what a failed test threw. */
  | { readonly at: "skipped"; readonly test: string; readonly text: string }
  | { readonly at: "failed"; readonly test: string; readonly text: string }
  /** Processor time of the process and of its ended children, in seconds. */
  | { readonly at: "exit"; readonly cpuSeconds: number };

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
    const note = noteOf(event);
    if (note !== null) appendFileSync(file, `${JSON.stringify(note)}\n`);
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

function noteOf(event: TestEvent): TestNote | null {
  switch (event.type) {
    case "test:dequeue":
      return { at: "begun", test: titleOf(event.data) };
    case "test:complete":
      return { at: "ended", test: titleOf(event.data) };
    case "test:pass": {
      if (event.data.details.type === "suite") return null;
      const { skip } = event.data;
      const test = titleOf(event.data);
      if (skip === undefined) return { at: "passed", test };
      return { at: "skipped", test, text: typeof skip === "string" ? skip : "no reason given" };
    }
    case "test:fail":
      return { at: "failed", test: titleOf(event.data), text: causeOf(event.data.details.error) };
    default:
      return null; // the other events are about progress
  }
}

function causeOf({ cause, message }: Error): string {
  if (cause instanceof Error) return cause.stack ?? cause.message;
  return typeof cause === "string" ? cause : message;
}

function titleOf(data: { name: string; file?: string | undefined; line?: number | undefined }) {
  const place =
    data.file === undefined ? "" : `${relative(process.cwd(), data.file)}:${data.line} `;
  return `${place}${data.name}`;
}
