import type { AdapterDefinition } from "./adapter.ts";
import { loopback } from "./loopback/loopback.ts";

/** Every adapter, by the name of its channel. */
export const adapters: ReadonlyMap<string, AdapterDefinition> = new Map(
  [loopback].map((adapter) => [adapter.name, adapter as AdapterDefinition]),
);
