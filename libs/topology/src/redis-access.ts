import { FILES_LEDGER } from "@switchyard/contracts/owner-storage";
import { AUDIT_SERVICES } from "@switchyard/contracts/policy/audit-ref";
import { STORAGE_SERVICES } from "@switchyard/contracts/owner-storage";

/**
 * The users of Redis and their rights. Each entry is one Redis user: `deploy/redis/users.acl`, the access list of `yard dev` and the one of
 * `yard keys init` are made from it, so a key or a command that is not listed here is refused by the server. A service that starts to store
 * something new adds the pattern of its keys to its entry.
 *
 * A user may not access another one's keys, not even to read them; keys that two services share, and keys that one may read of another, are
 * named here once, with the reason. Commands are listed one by one and never as a category: a category grows with each version of the
 * server.
 */
export interface RedisUser {
  /** The name of the NATS user of the same service. */
  readonly name: string;
  readonly description: string;
  /** Patterns of the keys that it may read and write. */
  readonly keys: readonly string[];
  /** Patterns of the keys that it may read alone. */
  readonly readsKeys: readonly string[];
  /** Patterns of the channels that it may publish and subscribe to. */
  readonly channels: readonly string[];
  /** Lower case; a subcommand is `command|subcommand`. */
  readonly commands: readonly string[];
}

/**
 * The commands that every connection of the client sends, also to a cluster, and `info` for the checks at the start. Every command must
 * exist in the oldest supported server, 7.0, which refuses a list with an unknown name.
 */
const connection = [
  "asking",
  "client|setname",
  "cluster|info",
  "cluster|slots",
  "info",
  "ping",
  "readonly",
  "readwrite",
  "select",
];
/** A script runs with the rights of its sender: each command and key in it is checked. */
const scripts = ["eval", "evalsha", "time"];
const transactions = ["discard", "exec", "multi"];
const expiry = ["del", "exists", "expire", "persist", "pexpire", "pexpireat", "pttl", "ttl"];
const strings = ["decr", "decrby", "get", "getdel", "incr", "incrby", "mget", "set"];
const hashes = [
  "hdel",
  "hexists",
  "hget",
  "hgetall",
  "hincrby",
  "hkeys",
  "hlen",
  "hmget",
  "hscan",
  "hset",
  "hsetnx",
  "hstrlen",
  "hvals",
];
/** Importers of the previous release use lindex. */
const lists = ["lindex", "llen", "lrange", "lrem", "ltrim", "rpush"];
const sets = ["sadd", "scard", "sismember", "smembers", "srem"];
const sortedSets = [
  "zadd",
  "zcard",
  "zcount",
  "zlexcount",
  "zrange",
  "zrangebylex",
  "zrangebyscore",
  "zrem",
  "zremrangebyrank",
  "zremrangebyscore",
  "zrevrange",
  "zscore",
];
const publishing = ["publish", "subscribe", "unsubscribe"];

/**
 * Results, epochs and values behind masks that every tool provider stores under a call and a run: a call that is repeated may reach any replica, and a runner
 * that lost its run is refused by all of them.
 */
const providerKeys = ["yard:call:{*}*", "yard:run:{*}:tool-epoch", "yard:run:{*}:masks"];

export const serviceRedisUsers: readonly RedisUser[] = [
  redisUser("policy", "Policy service", {
    keys: [
      "yard:policy:*",
      "yard:approval:*",
      "yard:approval-last:*",
      "yard:approval-prompts:*",
      "yard:{approvals}:*",
      "yard:grant:*",
      "yard:{grants}:*",
      "yard:{user-keys}:*",
      ...auditKeys("policy"),
    ],
    readsKeys: [
      // The owner of a run and the runner that holds it.
      "yard:run:{*}:state",
      "yard:run:{*}:claim",
      // The values behind masks, which approvers may see.
      "yard:run:{*}:masks",
      // The heads of the other services' chains, which it signs.
      ...AUDIT_SERVICES.filter((service) => service !== "policy").map(chainHeadsKey),
    ],
    commands: [...strings, ...hashes, ...sets, ...sortedSets],
  }),
  redisUser("broker", "MCP broker", {
    keys: ["yard:{mcp}:*", "yard:{mcp:*}:*", "yard:mcp:*", ...auditKeys("broker"), ...providerKeys],
    channels: ["yard:mcp:*"],
    commands: [...strings, ...hashes, ...publishing],
  }),
  redisUser("importer", "Skill importer", {
    keys: ["yard:{catalogue}:*", "yard:skill:*", "yard:agent:*"],
    commands: [...strings, ...hashes, ...lists],
  }),
  redisUser("runner", "Agent runner", {
    keys: [
      "yard:session:{*}:*",
      "yard:sessions:*",
      "yard:runs",
      "yard:runs:*",
      "yard:run:{*}:state",
      "yard:run:{*}:journal",
      "yard:run:{*}:cancels",
      "yard:run:{*}:deleted",
      "yard:run:{*}:blobs",
      "yard:run:{*}:claim",
      "yard:command:*",
      "yard:limit:*",
      "yard:team:*",
      "yard:session:{*}:state",
      "yard:session:{*}:history",
      "yard:session:{*}:commands",
      "yard:file:*",
      // Beside its bytes in Redis it counts those of files.
      storageKeys(FILES_LEDGER),
      ...auditKeys("runner"),
    ],
    // `wait` is for installations that require copies of their journals.
    commands: [...strings, ...hashes, ...lists, ...sets, ...sortedSets, "wait"],
  }),
  redisUser("channels", "Channels", {
    keys: ["yard:{channels}:*"],
    commands: [...strings, ...hashes, ...lists, ...sets, ...sortedSets],
  }),
  redisUser("gateway", "HTTP gateway", {
    keys: ["yard:gateway:*", ...auditKeys("gateway")],
    // The previous release counts with incr; deliveries of a deleted webhook are found with zscan.
    commands: [...strings, ...hashes, ...sortedSets, "zscan"],
  }),
  redisUser("scheduler", "Scheduler", {
    keys: ["yard:{schedules}:*"],
    commands: [...strings, ...hashes, ...lists, ...sortedSets],
  }),
  redisUser("toolbox", "Built-in tools", {
    keys: ["yard:{agent:*}:memory", ...auditKeys("toolbox"), ...providerKeys],
    commands: [...strings, ...hashes],
  }),
];

/** The user of probes and exporters, which check that the server answers and read its state; it may read no key. */
export const monitorRedisUser: RedisUser = {
  name: "monitor",
  description: "Health checks and metrics",
  keys: [],
  readsKeys: [],
  channels: [],
  commands: ["client|setname", "info", "ping"],
};

/** The user of the server's administrators: it has every right, so no service has its password. */
export const adminRedisUserName = "admin";

/**
 * The heads of a service's audit chains, with which another service could hide that its own was cut; and how much of the audit each user
 * has filled.
 */
function auditKeys(service: string): string[] {
  return [chainHeadsKey(service), `yard:audit:{${service}}:users`];
}

function chainHeadsKey(service: string): string {
  return `yard:audit:{${service}}:heads`;
}

/** The bytes that a service counts of each owner. */
function storageKeys(service: string): string {
  return `yard:storage:{*}:${service}`;
}

function redisUser(
  name: string,
  description: string,
  spec: Pick<RedisUser, "keys" | "commands"> & Partial<Pick<RedisUser, "readsKeys" | "channels">>,
): RedisUser {
  const commands = [...connection, ...scripts, ...transactions, ...expiry, ...spec.commands];
  return {
    name,
    description,
    // The key of its readiness probe and its counts of each owner; it may read the counts of the other services.
    keys: [
      ...spec.keys,
      `yard:ready:${name}`,
      ...STORAGE_SERVICES.filter((service) => service === name).map(storageKeys),
    ],
    readsKeys: [
      ...(spec.readsKeys ?? []),
      ...STORAGE_SERVICES.filter((service) => service !== name).map(storageKeys),
    ],
    channels: spec.channels ?? [],
    commands: commands.toSorted(),
  };
}
