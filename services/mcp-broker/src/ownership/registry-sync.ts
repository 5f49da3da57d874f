import type { RegistryStore } from "../registry/registry-store.ts";
import type { ServerRegistry } from "../registry/server-registry.ts";
import { StoreError } from "@switchyard/service/store-error";

/** Brings in what other brokers changed in the registry. */
export interface RegistrySync {
  /** Reads the registry again when its version is not the one that was read last; never rejects. */
  check(): Promise<void>;
}

export function createRegistrySync(options: {
  registry: ServerRegistry;
  registryStore: RegistryStore;
  onTrouble: (error: unknown) => void;
}): RegistrySync {
  const { registry, registryStore, onTrouble } = options;
  let known: string | null = null;
  let last: Promise<void> = Promise.resolve();

  const checkNow = async (): Promise<void> => {
    try {
      // The version first: a change between the two is read once more, and none is missed.
      const version = await registryStore.version();
      if (version === known) return;
      await registry.follow(() => registryStore.load());
      known = version;
    } catch (error) {
      // Without Redis there is nothing new to know; the leases tell of the outage.
      if (!(error instanceof StoreError)) onTrouble(error);
    }
  };
  return {
    check() {
      last = last.then(checkNow);
      return last;
    },
  };
}
