// The bytes of each owner in Redis are counted in one hash per service, see decisions/066.

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
