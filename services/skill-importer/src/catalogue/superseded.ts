import { withheldField, type Superseded } from "../store/catalogue-commit.ts";
import type {
  Catalogue,
  CatalogueChange,
  EntryChange,
} from "@switchyard/skills/catalogue/catalogue";
import { Kind, versionOfEntry, type Entry } from "@switchyard/skills/catalogue/definition";

/**
 * Returns the versions that no entry names after the change: no listed one, no one that clients sent, no one that waits for
 * trust. They may be removed when no run can be pinned to them.
 */
export function supersededBy(before: Catalogue, change: CatalogueChange): Superseded[] {
  const { set = [], remove = [] } = change.withheld ?? {};
  const replaced = new Set([...remove, ...set].map(withheldField));
  const waiting = [...before.withheld.filter((item) => !replaced.has(withheldField(item))), ...set];
  const superseded: Superseded[] = [];
  for (const kind of Kind.options) {
    const { listed, imported } = before[kind];
    const isOfKind = (item: { readonly kind: Kind }) => item.kind === kind;
    const named = new Set(
      [
        ...after(listed, change.listed[kind]),
        ...after(imported, change.imported?.[kind]),
        ...waiting.filter(isOfKind).map(({ entry }) => entry),
      ].map(idOf),
    );
    const gone = new Map<string, Superseded>();
    const note = (entry: Entry, wasUsable: boolean): void => {
      const id = idOf(entry);
      if (named.has(id) || gone.has(id)) return;
      const { name, digest } = entry.summary;
      const version = versionOfEntry(entry);
      gone.set(id, { kind: "superseded", what: kind, name, version, digest, wasUsable });
    };
    for (const entry of [...listed, ...imported]) note(entry, true);
    for (const { entry } of before.withheld.filter(isOfKind)) note(entry, false);
    superseded.push(...gone.values());
  }
  return superseded;
}

function after(before: readonly Entry[], change: EntryChange | undefined): readonly Entry[] {
  if (change === undefined) return before;
  const changed = new Set([...change.remove, ...change.set.map(({ summary }) => summary.name)]);
  return [...before.filter(({ summary }) => !changed.has(summary.name)), ...change.set];
}

function idOf(entry: Entry): string {
  return `${entry.summary.name} ${versionOfEntry(entry)}`;
}
