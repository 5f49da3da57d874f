import type { DeadLetter, DeadRun } from "@switchyard/contracts/agent-runner/runs";
import type { DeadRows } from "../journal/run-index.ts";

export interface DeadPage {
  readonly runs: DeadRun[];
  readonly letters: DeadLetter[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

/**
 * Returns one page of the runs and commands that were given up, latest first: runs by the time of that, commands by when they
 * were sent. `dead` has the runs after the cursor, `letters` all commands.
 */
export function deadPage(
  { dead, letters }: { readonly dead: DeadRows; readonly letters: readonly DeadLetter[] },
  { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
): DeadPage {
  const entries = [
    ...dead.rows.map(({ cursor: at, run }) => ({ at, runs: [run], letters: [] })),
    ...letters.map((letter) => ({ at: cursorOf(letter), runs: [], letters: [letter] })),
  ]
    .filter(({ at }) => cursor === null || compare(at, cursor) < 0)
    // If the search for runs stopped early, older commands belong to a later page, after the runs in between.
    .filter(({ at }) => dead.next === null || compare(at, dead.next) >= 0)
    .toSorted((one, other) => compare(other.at, one.at));
  const page = entries.slice(0, limit);
  return {
    runs: page.flatMap(({ runs }) => runs),
    letters: page.flatMap((entry) => entry.letters),
    next: entries.length > limit ? (page.at(-1)?.at ?? null) : dead.next,
  };
}

function cursorOf({ sentAt, streamSequence }: DeadLetter): string {
  return `${Date.parse(sentAt)}:letter/${streamSequence}`;
}

/** Orders by time, and by name within a millisecond, like the lists in Redis. */
function compare(one: string, other: string): number {
  const [[oneAt, oneName], [otherAt, otherName]] = [partsOf(one), partsOf(other)];
  if (oneAt !== otherAt) return oneAt - otherAt;
  return oneName === otherName ? 0 : oneName < otherName ? -1 : 1;
}

function partsOf(cursor: string): [number, string] {
  const at = cursor.indexOf(":");
  return [Number(cursor.slice(0, at)), cursor.slice(at + 1)];
}
