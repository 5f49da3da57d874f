import type { CatalogueChange } from "./catalogue.ts";
import {
  BUILT_IN_ROOT,
  IMPORTED_ROOT,
  versionOfEntry,
  type Entry,
  type Kind,
} from "./definition.ts";

export interface CataloguePlan {
  /** Entries to write: new, changed or moved. */
  readonly set: readonly Entry[];
  /** Names to remove from the list. */
  readonly remove: readonly string[];
  /** The entries of `set` whose content is new; events announce them. */
  readonly announce: readonly Entry[];
  /** The entries that were found but are not listed, because another entry has the name. */
  readonly hidden: readonly { readonly entry: Entry; readonly by: Entry }[];
}

/** A change with the plan that it follows. */
export interface PlannedChange extends CatalogueChange {
  readonly listed: Readonly<Partial<Record<Kind, CataloguePlan>>>;
}

export interface CatalogueInput {
  readonly current: readonly Entry[];
  readonly found: readonly Entry[];
  /** True for an entry whose source this import has read: a listed entry from there that was not found is removed. */
  readonly isInScope: (entry: Entry) => boolean;
  /** Real paths of the roots; an earlier one takes precedence. */
  readonly roots: readonly string[];
}

/**
 * Decides which entry is listed for each name. Of several with one name the first counts, by root and then by path; definitions
 * that clients sent come after the roots, and built-ins come last. Sources that the import did not read stay unchanged.
 */
export function planCatalogue(input: CatalogueInput): CataloguePlan {
  const current = new Map(input.current.map((entry) => [entry.summary.name, entry]));
  const kept = input.current.filter((entry) => !input.isInScope(entry));
  const winners = new Map<string, Entry>();
  const hidden: { entry: Entry; by: Entry }[] = [];
  const found = new Set(input.found);
  for (const entry of [...kept, ...input.found].toSorted((a, b) => compare(a, b, input.roots))) {
    const winner = winners.get(entry.summary.name);
    if (winner === undefined) winners.set(entry.summary.name, entry);
    else if (found.has(entry)) hidden.push({ entry, by: winner });
  }
  const set = [...winners.values()].filter(
    (entry) => !isSame(entry, current.get(entry.summary.name)),
  );
  return {
    set,
    remove: [...current.keys()].filter((name) => !winners.has(name)),
    announce: set.filter((entry) => {
      const before = current.get(entry.summary.name);
      return before === undefined || versionOfEntry(before) !== versionOfEntry(entry);
    }),
    hidden,
  };
}

function compare(a: Entry, b: Entry, roots: readonly string[]): number {
  const byRoot = rankOf(a.root, roots) - rankOf(b.root, roots);
  if (byRoot !== 0) return byRoot;
  if (a.file === b.file) return 0;
  return a.file < b.file ? -1 : 1;
}

function rankOf(root: string, roots: readonly string[]): number {
  if (root === BUILT_IN_ROOT) return roots.length + 2;
  if (root === IMPORTED_ROOT) return roots.length + 1;
  const rank = roots.indexOf(root);
  return rank < 0 ? roots.length : rank;
}

function isSame(a: Entry, b: Entry | undefined): boolean {
  return b !== undefined && JSON.stringify(a) === JSON.stringify(b);
}
