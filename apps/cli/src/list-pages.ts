import type { Terminal } from "./terminal.ts";

/** The options of a command that lists, a page at a time. */
export interface PageOptions {
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** The part of a request that says which page is meant. */
export function pageOf({ limit, cursor }: PageOptions): { limit: number; cursor?: string } {
  return cursor === undefined ? { limit } : { limit, cursor };
}

/** Whether a page that is empty means an empty list: it is the only page. */
export function isWhole({ cursor }: PageOptions, next: string | null): boolean {
  return cursor === undefined && next === null;
}

/** Says that the list goes on, and how to go on with it. */
export function noteMore(terminal: Terminal, next: string | null): void {
  if (next !== null)
    terminal.note(
      `there are more; the next page has the same options and --cursor ${quoted(next)}`,
    );
}

/** For a shell. */
function quoted(cursor: string): string {
  return /^[\w:./~-]+$/.test(cursor) ? cursor : `'${cursor.replaceAll("'", "'\\''")}'`;
}
