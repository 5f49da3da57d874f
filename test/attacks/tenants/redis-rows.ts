import { STORAGE_SERVICES } from "@switchyard/contracts/owner-storage";
import { serviceRedisUsers } from "@switchyard/topology/redis-access";

/** A family of keys in Redis. */
export interface RedisRow {
  /** The services that may write it. */
  readonly by: string;
  /** The services that may only read it. */
  readonly readBy?: string;
  /** The owner's position in its keys, or the reason why no caller can name another one's key. */
  readonly owner: RegExp | string;
}

const MADE =
  "the id is made by the service, and the record says whose it is; services/policy looks at it";
const SESSION = "the name is a digest of owner and key, or a made id; the record says whose it is";
const INSTALLATION = "it belongs to the installation, and no team has a part in its name";
const DEFINITIONS =
  "agents and skills belong to the installation, and only its admins bring them in";
const SERVERS = "servers belong to the installation; values of a user name it";

const OF_RUN = /^yard:run:\{([^~}]+)~/;
const CALL = /^yard:call:\{([^/~}]+)[/~]/;

const READY = Object.fromEntries(
  serviceRedisUsers.map(({ name }) => [`yard:ready:${name}`, { by: name, owner: INSTALLATION }]),
);
/** The bytes of an owner, which each service counts, and which the others add up. */
const STORAGE = Object.fromEntries(
  STORAGE_SERVICES.map((by) => {
    const others = serviceRedisUsers.filter(({ name }) => name !== by);
    const readBy = others.map(({ name }) => name).join(" ");
    return [`yard:storage:{*}:${by}`, { by, readBy, owner: /^yard:storage:\{([^}]+)\}/ }];
  }),
);

/**
 * By pattern of the services' rights in Redis: which service may access it, and how far one team can access another's keys there.
 */
export const redisRows: Readonly<Record<string, RedisRow>> = {
  ...READY,
  ...STORAGE,
  "yard:storage:{*}:runner-files": { by: "runner", owner: /^yard:storage:\{([^}]+)\}/ },
  "yard:file:*": {
    by: "runner",
    owner: "an id that the service makes, or a digest of owner and content",
  },
  "yard:run:{*}:state": { by: "runner", readBy: "policy", owner: OF_RUN },
  "yard:run:{*}:journal": { by: "runner", owner: OF_RUN },
  "yard:run:{*}:cancels": { by: "runner", owner: OF_RUN },
  "yard:run:{*}:deleted": { by: "runner", owner: OF_RUN },
  "yard:run:{*}:claim": { by: "runner", readBy: "policy", owner: OF_RUN },
  "yard:run:{*}:blobs": { by: "runner", owner: OF_RUN },
  "yard:run:{*}:tool-epoch": { by: "broker toolbox", owner: OF_RUN },
  "yard:run:{*}:masks": { by: "broker toolbox", readBy: "policy", owner: OF_RUN },
  "yard:call:{*}*": { by: "broker toolbox", owner: CALL },
  "yard:approval-prompts:*": {
    by: "policy",
    owner: /^yard:approval-prompts:\{(?:user |run )([^~}]+)/,
  },
  "yard:team:*": { by: "runner", owner: /^yard:team:\{([^}]+)\}/ },
  "yard:runs": { by: "runner", owner: "all ids with their owners in front; only runners read it" },
  "yard:runs:*": {
    by: "runner",
    owner: "lists with the owner as their last part, and six for the runners themselves",
  },
  "yard:sessions:*": {
    by: "runner",
    owner: "lists with the owner as their last part, and three for the runners themselves",
  },
  "yard:session:{*}:*": { by: "runner", owner: SESSION },
  "yard:session:{*}:state": { by: "runner", owner: SESSION },
  "yard:session:{*}:history": { by: "runner", owner: SESSION },
  "yard:session:{*}:commands": { by: "runner", owner: SESSION },
  "yard:command:*": {
    by: "runner",
    owner:
      "the sequence of a command in the queue, which no client chooses; of stored ones a run id with its owner in front",
  },
  "yard:limit:*": { by: "runner", owner: INSTALLATION },
  "yard:approval:*": { by: "policy", owner: MADE },
  "yard:approval-last:*": {
    by: "policy",
    owner: "a digest of the call and of whom it is made for",
  },
  "yard:{approvals}:*": {
    by: "policy",
    owner: "lists with the owner as their last part, and three for the policy service itself",
  },
  "yard:grant:*": { by: "policy", owner: MADE },
  "yard:{grants}:*": { by: "policy", owner: MADE },
  "yard:policy:*": { by: "policy", owner: INSTALLATION },
  "yard:{user-keys}:*": { by: "policy", owner: INSTALLATION },
  "yard:{channels}:*": {
    by: "channels",
    owner:
      "digests of the caller and its key, and of an account and what its provider says; the caller is in each record",
  },
  "yard:{schedules}:*": {
    by: "scheduler",
    owner:
      "the id is made by the service, and the record says whose it is; lists have the owner as their last part",
  },
  "yard:gateway:*": { by: "gateway", owner: "a digest of the caller and its credential" },
  "yard:{mcp}:*": { by: "broker", owner: SERVERS },
  "yard:{mcp:*}:*": { by: "broker", owner: SERVERS },
  "yard:mcp:*": { by: "broker", owner: SERVERS },
  "yard:{catalogue}:*": { by: "importer", owner: DEFINITIONS },
  "yard:skill:*": { by: "importer", owner: DEFINITIONS },
  "yard:agent:*": { by: "importer", owner: DEFINITIONS },
  "yard:{agent:*}:memory": {
    by: "toolbox",
    owner:
      "owner and agent, or the agent alone where its file and the policy have it shared (see the rows of run.start)",
  },
  "yard:audit:{policy}:heads": { by: "policy", owner: INSTALLATION },
  "yard:audit:{policy}:users": {
    by: "policy",
    owner: "counts by user; only the service itself adds to them",
  },
  "yard:audit:{broker}:heads": { by: "broker", readBy: "policy", owner: INSTALLATION },
  "yard:audit:{broker}:users": {
    by: "broker",
    owner: "counts by user; only the service itself adds to them",
  },
  "yard:audit:{runner}:heads": { by: "runner", readBy: "policy", owner: INSTALLATION },
  "yard:audit:{runner}:users": {
    by: "runner",
    owner: "counts by user; only the service itself adds to them",
  },
  "yard:audit:{toolbox}:heads": { by: "toolbox", readBy: "policy", owner: INSTALLATION },
  "yard:audit:{toolbox}:users": {
    by: "toolbox",
    owner: "counts by user; only the service itself adds to them",
  },
  "yard:audit:{gateway}:heads": { by: "gateway", readBy: "policy", owner: INSTALLATION },
  "yard:audit:{gateway}:users": {
    by: "gateway",
    owner: "counts by user; only the service itself adds to them",
  },
};

/** Every pattern that a service may write. */
export const redisPatterns: readonly string[] = [
  ...new Set(serviceRedisUsers.flatMap(({ keys }) => keys)),
].toSorted();

/** True when a key belongs to the family of a pattern; `*` matches any text, as in Redis. */
export function isOfFamily(pattern: string, key: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(key);
}
