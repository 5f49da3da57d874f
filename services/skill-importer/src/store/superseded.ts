import { withheldField, type CatalogueChange, type Superseded } from "./catalogue-commit.ts";
import type { WithheldEntry } from "./admission.ts";
import { versionOfEntry, type Entry } from "./definition.ts";

type AnyEntry = Entry<{ name: string; digest: string }>;
type Kind = Superseded["what"];

/** Everything that names a version, of the names that a change is about. */
export interface References {
  readonly skills: readonly AnyEntry[];
  readonly imported: readonly AnyEntry[];
  readonly agents: readonly AnyEntry[];
  readonly importedAgents: readonly AnyEntry[];
  readonly withheld: readonly WithheldEntry[];
}

interface Part {
  readonly set: readonly AnyEntry[];
  readonly remove: readonly string[];
}

/**
 * The versions that nothing names any more once the change is made: not the list, not what clients sent, not
 * what waits for somebody's trust. They may go when no run is pinned to them any more.
 */
export function supersededBy(before: References, change: CatalogueChange): Superseded[] {
  const { withheld } = change;
  const replaced = new Set(
    [...(withheld?.remove ?? []), ...(withheld?.set ?? [])].map(withheldField),
  );
  const waiting = [
    ...before.withheld.filter((item) => !replaced.has(withheldField(item))),
    ...(withheld?.set ?? []),
  ];
  return [
    ...gone("skill", {
      usable: [...before.skills, ...before.imported],
      kept: [...after(before.skills, change.skills), ...after(before.imported, change.imported)],
      withheld: before.withheld,
      waiting,
    }),
    ...gone("agent", {
      usable: [...before.agents, ...before.importedAgents],
      kept: [
        ...after(before.agents, change.agents),
        ...after(before.importedAgents, change.importedAgents),
      ],
      withheld: before.withheld,
      waiting,
    }),
  ];
}

function after(before: readonly AnyEntry[], change: Part | undefined): AnyEntry[] {
  if (change === undefined) return [...before];
  const changed = new Set([...change.remove, ...change.set.map(({ summary }) => summary.name)]);
  return [...before.filter(({ summary }) => !changed.has(summary.name)), ...change.set];
}

function gone(
  what: Kind,
  given: {
    readonly usable: readonly AnyEntry[];
    readonly kept: readonly AnyEntry[];
    readonly withheld: readonly WithheldEntry[];
    readonly waiting: readonly WithheldEntry[];
  },
): Superseded[] {
  const entriesOf = (items: readonly WithheldEntry[]): AnyEntry[] =>
    items.filter(({ kind }) => kind === what).map(({ entry }) => entry);
  const keyOf = (entry: AnyEntry) => `${entry.summary.name} ${versionOfEntry(entry)}`;
  const named = new Set([...given.kept, ...entriesOf(given.waiting)].map(keyOf));
  const result = new Map<string, Superseded>();
  const note = (entry: AnyEntry, wasUsable: boolean): void => {
    const key = keyOf(entry);
    if (named.has(key) || result.has(key)) return;
    const { name, digest } = entry.summary;
    const version = versionOfEntry(entry);
    result.set(key, { kind: "superseded", what, name, version, digest, wasUsable });
  };
  for (const entry of given.usable) note(entry, true);
  for (const entry of entriesOf(given.withheld)) note(entry, false);
  return [...result.values()];
}
