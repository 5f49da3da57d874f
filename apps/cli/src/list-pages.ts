import { shellWord } from "./shell-word.ts";
import type { Terminal } from "./terminal.ts";

/** The options of a command that lists, a page at a time. */
export interface PageOptions {
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** The fields of a request that select the page. */
export function pageOf({ limit, cursor }: PageOptions): { limit: number; cursor?: string } {
  return cursor === undefined ? { limit } : { limit, cursor };
}

/** True when the page is the only one, so that an empty page means an empty list. */
export function isWhole({ cursor }: PageOptions, next: string | null): boolean {
  return cursor === undefined && next === null;
}

/** Notes that the list has another page, and how to request it. */
export function noteMore(terminal: Terminal, next: string | null): void {
  if (next !== null)
    terminal.note(
      `there are more; the next page has the same options and --cursor ${shellWord(next)}`,
    );
}
