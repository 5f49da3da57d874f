/** The digests of a server's tools by canonical name. */
export type ToolDigests = ReadonlyMap<string, string>;

export interface DiscoveredTools {
  readonly added: string[];
  readonly removed: string[];
  readonly changed: string[];
}

/** What is different between two lists, in the order of the names; null when nothing is. */
export function discoveredTools(before: ToolDigests, now: ToolDigests): DiscoveredTools | null {
  const names = [...now.keys()].toSorted();
  const added = names.filter((name) => !before.has(name));
  const changed = names.filter((name) => before.has(name) && before.get(name) !== now.get(name));
  const removed = [...before.keys()].filter((name) => !now.has(name)).toSorted();
  const isSame = added.length + changed.length + removed.length === 0;
  return isSame ? null : { added, removed, changed };
}
