import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { StartError } from "@switchyard/service/start-error";
import { readServerFile } from "@switchyard/project/mcp-servers/server-file";
import { watchChildren } from "../process/child-memory.ts";
import { openChildRecords } from "../process/child-records.ts";
import { createRegistryStore, type RegistryRecord, type RegistryStore } from "./registry-store.ts";
import { logServerFile } from "./follow-file.ts";
import { mergedEntries } from "./server-entries.ts";

/** Reads the state with which the broker begins: the declared servers, and the leftovers of a crashed broker. */
export async function readState(
  { redis, log }: { readonly redis: Redis; readonly log: Log },
  { serversFile, stateDir }: { readonly serversFile: string; readonly stateDir: string },
) {
  const file = await readServerFile(serversFile);
  const registryStore = createRegistryStore(redis);
  const changes = await loadChanges(registryStore);
  const entries = mergedEntries(file.entries, changes);
  logServerFile({ entries, warnings: file.warnings }, log);
  const children = watchChildren(await openChildRecords(stateDir));
  for (const child of await children.records.reap())
    log.warn(child, "leftover mcp server process ended");
  return { file, registryStore, changes, entries, children };
}

async function loadChanges(store: RegistryStore): Promise<ReadonlyMap<string, RegistryRecord>> {
  try {
    return await store.load();
  } catch (cause) {
    throw new StartError(
      `cannot read the servers that were changed over the bus: ${String(cause)}`,
      {
        hint: "look at the hash yard:{mcp}:servers in Redis",
        cause,
      },
    );
  }
}
