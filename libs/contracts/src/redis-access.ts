import { AUDIT_SERVICES } from "./audit-ref.ts";
import { STORAGE_SERVICES } from "./owner-storage.ts";

/**
 * Who may touch what in Redis. Each entry is one Redis user: `deploy/redis/users.acl`, the access
 * list of `yard dev` and the one of `yard keys init` are made from it, so a key or a command that is
 * not written here is refused by the server. A service that starts to keep something new adds the
 * pattern of its keys to its entry.
 *
 * A user may not touch another one's keys, not even to read them; what two services share, and what one may read of
 * another, is named here once, with the reason. Commands are listed one by one and never as a category: a category
 * grows with each version of the server.
 */
export interface RedisUser {
  /** The name of the NATS user of the same service. */
  readonly name: string;
  readonly description: string;
  /** Patterns of the keys that it may read and write. */
  readonly keys: readonly string[];
  /** Patterns of the keys that it may read alone. */
  readonly readsKeys: readonly string[];
  /** Patterns of the channels that it may publish to and hear. */
  readonly channels: readonly string[];
  /** Lower case; a subcommand is `command|subcommand`. */
  readonly commands: readonly string[];
}

/**
 * What every connection of the client sends, to a cluster, too, and `info` for the checks at the start. Every command
 * must exist in the oldest server that we take, 7.0, which refuses a list with a name it does not know.
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
/** A script runs with the rights of the user that sent it: each command and key in it is checked. */
const scripts = ["eval", "evalsha", "time"];
const transactions = ["discard", "exec", "multi"];
const expiry = ["del", "exists", "expire", "persist", "pexpire", "pexpireat", "pttl", "ttl"];
const strings = ["decr", "get", "getdel", "incr", "incrby", "mget", "set"];
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
 * Results and epochs that every tool provider keeps under a call and a run: a call that is repeated
 * may reach any replica, and a runner that lost its run is refused by all of them.
 */
const providerKeys = ["yard:call:{*}*", "yard:run:{*}:tool-epoch"];

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
      // Which owner a run has and which runner holds it.
      "yard:run:{*}:state",
      "yard:run:{*}:claim",
      // How far the chains of the others are, which it signs.
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
      "yard:run:{*}:blobs",
      "yard:run:{*}:claim",
      "yard:command:*",
      "yard:limit:*",
      "yard:team:*",
      "yard:session:{*}:state",
      "yard:session:{*}:history",
      "yard:session:{*}:commands",
      "yard:file:*",
      // Beside its bytes in Redis it counts those of files, in `FILES_LEDGER`.
      `${storageKeys("runner")}*`,
      ...auditKeys("runner"),
    ],
    // `wait` where an installation wants its journals copied.
    commands: [...strings, ...hashes, ...lists, ...sets, ...sortedSets, "wait"],
  }),
  redisUser("channels", "Channels", {
    keys: ["yard:{channels}:*"],
    commands: [...strings, ...hashes, ...lists, ...sets, ...sortedSets],
  }),
  redisUser("gateway", "HTTP gateway", {
    keys: ["yard:gateway:*", ...auditKeys("gateway")],
    // The release before counts with incr; what waits for a webhook that goes is found with zscan.
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

/** Asks whether the server answers and how it is, for probes and exporters; it sees no key. */
export const monitorRedisUser: RedisUser = {
  name: "monitor",
  description: "Health checks and metrics",
  keys: [],
  readsKeys: [],
  channels: [],
  commands: ["client|setname", "info", "ping"],
};

/** People who look after the server: everything, so no service has its password. */
export const adminRedisUserName = "admin";

/** How far the audit chains of a service were, with which another one could hide that its own was cut; and who has how much of the audit. */
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
