/**
 * The names of the NATS users that every installation has. Their rights are in `topology.ts`, which loads every contract; code that needs a
 * name alone starts in a fraction of that time with this file.
 */
export const SERVICE_NAMES = [
  "policy",
  "broker",
  "importer",
  "runner",
  "toolbox",
  "channels",
  "scheduler",
  "gateway",
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** The command line of the operator. */
export const CLI_USER = "cli";
/** Creates streams, consumers and buckets. */
export const ADMIN_USER = "admin";
/** Reads the audit. */
export const AUDITOR_USER = "auditor";
/** Changes how long the audit is stored. */
export const OPERATOR_USER = "operator";

/** A client without credentials on a laptop, and its reply inbox. */
export const ANONYMOUS_USER = { name: "me", inboxPrefix: "_INBOX" } as const;

/**
 * The prefix of names of people and programs of an OpenID Connect issuer, unless the operator assigned another one. No NATS user may have
 * it: an issuer's names must not make a person a team.
 */
export const OIDC_PREFIX = "oidc-";

/** The gateway: it acts for people and programs with a user token. */
export const GATEWAY_USER: ServiceName = "gateway";

/** The toolbox: its platform tools do for a caller what the caller could request directly. */
export const TOOLBOX_USER: ServiceName = "toolbox";

/** The runners: they act for the owners of runs. */
export const RUNNER_USER: ServiceName = "runner";

/** The scheduler: it starts runs for the owners of jobs. */
export const SCHEDULER_USER: ServiceName = "scheduler";

const services: ReadonlySet<string> = new Set(SERVICE_NAMES);

/** True for the users that are services: they act for many. */
export function isService(user: string): boolean {
  return services.has(user);
}

/** True for the users that may read all users' events; a team reads its own. */
export function readsAllEvents(user: string): boolean {
  return user === CLI_USER || user === ANONYMOUS_USER.name;
}
