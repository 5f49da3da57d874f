// What each owner keeps in Redis is counted in one hash for each service that keeps something of it, see decisions/066.

/** The services that count. */
export const STORAGE_SERVICES = [
  "runner",
  "broker",
  "toolbox",
  "policy",
  "channels",
  "gateway",
] as const;
export type StorageService = (typeof STORAGE_SERVICES)[number];

/** The hash of a service about an owner. Those of one owner are in one hash slot. */
export function storageKey(owner: string, service: string): string {
  return `yard:storage:{${owner}}:${service}`;
}

/** The field that has the sum of all others. No thing is called like it. */
export const STORAGE_TOTAL = "=";
