import type { AgentVersionStore } from "./agent-version-store.ts";
import type { Superseded } from "./catalogue-commit.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import type { VersionStore } from "./version-store.ts";

interface Stores {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  readonly agentVersions: AgentVersionStore;
}

/**
 * Lets a version go that nothing named when its successor was committed. It may be done late, or twice, so it looks
 * whether something names the version again, before and after.
 */
export async function retireVersion(stores: Stores, item: Superseded): Promise<void> {
  const { store, versions, agentVersions } = stores;
  const { what, name, version } = item;
  if (await store.isNamed(item)) return;
  if (what === "skill") await versions.retire(item);
  else {
    await agentVersions.retire(name, version);
    await store.retire("agent", name, version);
  }
  if (!(await store.isNamed(item))) return;
  if (what === "skill") return versions.restore(name, version);
  await agentVersions.restore(name, version);
  await store.keep("agent", name, version);
}
