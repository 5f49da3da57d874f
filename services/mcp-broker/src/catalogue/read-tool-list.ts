import { isDeepStrictEqual } from "node:util";
import { ProtocolError } from "@modelcontextprotocol/client";
import { isRecord } from "@switchyard/contracts/json-record";
import { workSlices } from "../limits/work-slices.ts";
import { readListedTool, type ListedTool } from "./listed-tool.ts";

/** The tool list of a server, of all its pages. */
export interface ToolListing {
  readonly tools: readonly ListedTool[];
  /** Entries that are not usable tools, and limits that were met, in words. */
  readonly problems: readonly string[];
  /** The lifetime of the list according to the server, in milliseconds; null when the server gives no time. */
  readonly ttlMs: number | null;
}

/** Requests one page as it comes, by the cursor of the page before. */
export type ReadPage = (cursor: string | undefined) => Promise<unknown>;

export interface ListingLimits {
  readonly tools: number;
  readonly pages: number;
  /** The limit for all definitions together. */
  readonly characters: number;
}

/** Limits for one server. A longer list would crowd out the others in every list that is made from all of them. */
export const LISTING_LIMITS: ListingLimits = {
  tools: 10_000,
  pages: 1_000,
  characters: 32 * 1024 * 1024,
};
const MAX_CURSOR = 64 * 1024;
const MAX_PROBLEMS = 100;

export const emptyListing: ToolListing = { tools: [], problems: [], ttlMs: null };

/**
 * Reads all pages. Each tool is looked at by itself, so a malformed one is left out and named, and
 * the others stay; one that is listed twice alike counts once. Rejects when a page is not a list at all,
 * and with what `readPage` rejects.
 */
export async function readToolList(
  readPage: ReadPage,
  limits: ListingLimits = LISTING_LIMITS,
): Promise<ToolListing> {
  const tools: ListedTool[] = [];
  const byName = new Map<string, ListedTool>();
  const problems: string[] = [];
  const cursors = new Set<string>();
  const ttls: number[] = [];
  let cursor: string | undefined;
  let entries = 0;
  let characters = 0;
  const slice = workSlices();
  do {
    const page = await nextPage(cursor);
    if ("cut" in page) return ended(page.cut);
    if (page.cursorProblem !== null) problems.push(page.cursorProblem);
    if (page.ttlMs !== null) ttls.push(page.ttlMs);
    for (const raw of page.tools) {
      await slice();
      const read = readListedTool(raw, entries);
      entries += 1;
      if ("problem" in read) {
        problems.push(read.problem);
        continue;
      }
      problems.push(...read.findings);
      characters += read.characters;
      if (characters <= limits.characters && isListed(byName, read.tool)) continue;
      if (tools.length >= limits.tools)
        return ended(`the list is cut: a server may have ${limits.tools} tools`);
      if (characters > limits.characters)
        return ended(`the list is cut: it may have ${limits.characters} characters`);
      tools.push(read.tool);
      byName.set(read.tool.name, read.tool);
    }
    if (page.cursor === null) return ended(null);
    // An empty cursor is one like any other, but many servers write it for "no more" and begin anew when they get it.
    if (cursors.has(page.cursor)) return ended([page.cursor, cursor].includes("") ? null : CIRCLE);
    cursors.add(page.cursor);
    cursor = page.cursor;
  } while (cursors.size < limits.pages);
  return ended(`the list is cut: it may have ${limits.pages} pages`);

  /** A later page that is refused cuts the list: the tools of earlier pages stay. */
  async function nextPage(after: string | undefined): Promise<Page | { readonly cut: string }> {
    try {
      return readPageOf(await readPage(after));
    } catch (error) {
      const isAnswer = error instanceof ProtocolError || error instanceof NoListError;
      if (after === undefined || !isAnswer) throw error;
      return { cut: `the list is cut: its next page was refused: ${error.message}` };
    }
  }

  function ended(limit: string | null): ToolListing {
    const shown = problems.slice(0, MAX_PROBLEMS);
    const hidden = problems.length - shown.length;
    if (hidden > 0) shown.push(`${hidden} more problems of the tool list are not shown`);
    if (limit !== null) shown.push(limit);
    return { tools, problems: shown, ttlMs: ttls.length === 0 ? null : Math.min(...ttls) };
  }
}

const CIRCLE = "the list is cut: its pages go round in a circle";

function isListed(
  byName: ReadonlyMap<string, ListedTool>,
  { name, definition }: ListedTool,
): boolean {
  const before = byName.get(name);
  return before !== undefined && isDeepStrictEqual(before.definition, definition);
}

/** A page is not a list at all. */
class NoListError extends Error {
  override readonly name = "NoListError";
}

interface Page {
  readonly tools: readonly unknown[];
  readonly cursor: string | null;
  readonly cursorProblem: string | null;
  readonly ttlMs: number | null;
}

function readPageOf(page: unknown): Page {
  if (!isRecord(page) || !Array.isArray(page["tools"]))
    throw new NoListError("tools/list was answered without a list of tools");
  const { tools, nextCursor, ttlMs } = page;
  const isEnd = nextCursor === undefined || nextCursor === null;
  const isCursor = typeof nextCursor === "string" && nextCursor.length <= MAX_CURSOR;
  return {
    tools,
    cursor: isCursor ? nextCursor : null,
    cursorProblem:
      isCursor || isEnd
        ? null
        : `the list is cut: its nextCursor is not a text of at most ${MAX_CURSOR} characters`,
    ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : null,
  };
}
