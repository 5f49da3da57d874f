import { StoreError } from "@switchyard/service/store-error";
import type { RegistryStore } from "../registry/registry-store.ts";
import type { ServerRegistry } from "../registry/server-registry.ts";

/**
 * Creates the function that loads the changes that other brokers made in the registry. It is read again when its version is not
 * the one that was read last. Never rejects.
 */
export function createRegistrySync(options: {
  registry: ServerRegistry;
  registryStore: RegistryStore;
  /** Reads the secrets, which the same version counts. Rejects with StoreError. */
  syncSecrets: () => Promise<void>;
  onTrouble: (error: unknown) => void;
}): () => Promise<void> {
  const { registry, registryStore, syncSecrets, onTrouble } = options;
  let known: string | null = null;
  let last: Promise<void> = Promise.resolve();

  const syncNow = async (): Promise<void> => {
    try {
      // The version first: a change between the two is read once more, and none is missed.
      const version = await registryStore.version();
      if (version === known) return;
      await registry.follow(() => registryStore.load());
      await syncSecrets();
      known = version;
    } catch (error) {
      // Without Redis there is nothing new to read; the leases report the outage.
      if (!(error instanceof StoreError)) onTrouble(error);
    }
  };

  return () => {
    last = last.then(syncNow);
    return last;
  };
}
