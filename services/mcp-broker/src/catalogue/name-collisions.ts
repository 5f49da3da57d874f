import { foldedToolName, type ToolRef } from "@switchyard/contracts/tool-names";

/**
 * The canonical names that tools of different servers share where case, `-` and `_` do not count.
 * Only a server whose id ends with `-` or has `--` can have one: `a--b` and its tool `c` read as `a`
 * and its tool `b__c`.
 */
export function collidingNames(
  servers: readonly string[],
  refs: readonly ToolRef[],
): ReadonlyMap<string, readonly ToolRef[]> {
  if (!servers.some((id) => id.endsWith("-") || id.includes("--"))) return new Map();
  const colliding = new Map<string, readonly ToolRef[]>();
  for (const group of Map.groupBy(refs, ({ name }) => foldedToolName(name)).values())
    if (new Set(group.map(({ server }) => server)).size > 1)
      for (const { name } of group) colliding.set(name, group);
  return colliding;
}
