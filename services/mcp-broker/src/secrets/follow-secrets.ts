import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { StoreError } from "@switchyard/service/store-error";
import type { ServerPool } from "../connection/server-pool.ts";
import { secretsIn } from "../declaration/env-references.ts";
import type { ServerSecrets } from "./server-secrets.ts";

/** Ids of the servers whose declaration refers to the secret. */
export function usersOf(pool: Pick<ServerPool, "members">, name: string): string[] {
  return pool.members
    .map(({ connection }) => connection.entry)
    .filter(({ config }) => config !== null && secretsIn(config).has(name))
    .map(({ id }) => id);
}

/**
 * Creates the function that reads the secrets and connects servers anew whose secrets changed. A server that was disconnected by
 * hand stays so. Rejects with StoreError.
 */
export function createSecretSync(parts: {
  readonly secrets: ServerSecrets;
  readonly pool: ServerPool;
  readonly onTrouble: (error: unknown) => void;
}): () => Promise<void> {
  const { secrets, pool, onTrouble } = parts;
  return async () => {
    const changed = await secrets.refresh();
    if (changed.size === 0) return;
    for (const { connection } of pool.members) {
      const { entry, heldBecause, info } = connection;
      if (entry.config === null || heldBecause !== null || !uses(entry.config, changed)) continue;
      const reason = "a secret that it uses has changed";
      const { connection: next } = pool.put(entry, { reason, heldBecause });
      const isWanted = entry.config.autoConnect || info.status !== "disconnected";
      if (isWanted && entry.config.enabled) next.start().catch(onTrouble);
    }
  };
}

/** Reads the secrets at the start. Without Redis, or with a value that no key opens, the servers report what is missing. */
export async function readSecrets(
  secrets: ServerSecrets,
  onTrouble: (error: unknown) => void,
): Promise<void> {
  try {
    await secrets.refresh();
    await secrets.reseal();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    onTrouble(error);
  }
}

function uses(config: ServerConfig, names: ReadonlySet<string>): boolean {
  return [...secretsIn(config)].some((name) => names.has(name));
}
