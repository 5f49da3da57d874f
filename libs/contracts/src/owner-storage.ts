// What each owner keeps in Redis is counted in one hash for each service that keeps something of it, see decisions/066.

/** The services that count. */
export const STORAGE_SERVICES = [
  "runner",
  "broker",
  "toolbox",
  "policy",
  "channels",
  "gateway",
  "scheduler",
  "importer",
] as const;
export type StorageService = (typeof STORAGE_SERVICES)[number];
