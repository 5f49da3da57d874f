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

/** The ledger of the bytes of files, which are in an object store and have a limit of their own. The runner has it. */
export const FILES_LEDGER = "runner-files";
