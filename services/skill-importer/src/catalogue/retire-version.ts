import type { Superseded } from "../store/catalogue-commit.ts";
import type { CatalogueStore } from "../store/catalogue-store.ts";
import type { VersionStore } from "../store/version-store.ts";

/**
 * Lets a version go that nothing named when its successor was committed. It may be done late, or twice, so it looks
 * whether something names the version again, before and after.
 */
export async function retireVersion(
  { store, versions }: { readonly store: CatalogueStore; readonly versions: VersionStore },
  item: Superseded,
): Promise<void> {
  const { what, name, version } = item;
  if (await store.isNamed(what, name, version)) return;
  await versions.retire(item);
  if (await store.isNamed(what, name, version)) await versions.restore(what, name, version);
}
