import { serviceRedisUsers } from "@switchyard/contracts/redis-access";

/** Where the owner stands in the keys of a family, or why no caller can name a key of another one's. */
export type RedisRow = RegExp | string;

const MADE =
  "the id is made by the service, and the record says whose it is; services/policy looks at it";
const SESSION = "the name is a digest of owner and key, or a made id; the record says whose it is";
const INSTALLATION = "it belongs to the installation, and no team has a part in its name";
const DEFINITIONS =
  "agents and skills belong to the installation, and only its admins bring them in";
const SERVERS = "servers belong to the installation; what is a user's says so in the value";

const OF_RUN = /^yard:run:\{([^~}]+)~/;
const CALL = /^yard:call:\{([^/~}]+)[/~]/;

/** By pattern of the services' rights in Redis: what one team can reach of another's there. */
export const redisRows: Readonly<Record<string, RedisRow>> = {
  "yard:run:{*}:state": OF_RUN,
  "yard:run:{*}:journal": OF_RUN,
  "yard:run:{*}:cancels": OF_RUN,
  "yard:run:{*}:claim": OF_RUN,
  "yard:run:{*}:blobs": OF_RUN,
  "yard:run:{*}:tool-epoch": OF_RUN,
  "yard:call:{*}": CALL,
  "yard:approval-prompts:*": /^yard:approval-prompts:\{(?:user |run )([^~}]+)/,
  "yard:team:*": /^yard:team:\{([^}]+)\}/,
  "yard:runs": "all ids with their owners in front; only runners read it",
  "yard:runs:*": "lists with the owner as their last part, and three for the runners themselves",
  "yard:sessions:*":
    "lists with the owner as their last part, and three for the runners themselves",
  "yard:session:{*}:*": SESSION,
  "yard:session:{*}:state": SESSION,
  "yard:session:{*}:history": SESSION,
  "yard:session:{*}:commands": SESSION,
  "yard:command:*": "the place of a command in the queue, which nobody chooses",
  "yard:limit:*": INSTALLATION,
  "yard:approval:*": MADE,
  "yard:approval-last:*": "a digest of the call and of whom it is made for",
  "yard:{approvals}:*":
    "lists with the owner as their last part, and three for the policy service itself",
  "yard:grant:*": MADE,
  "yard:{grants}:*": MADE,
  "yard:policy:*": INSTALLATION,
  "yard:{user-keys}:*": INSTALLATION,
  "yard:gateway:*": "a digest of the caller and its credential",
  "yard:{mcp}:*": SERVERS,
  "yard:{mcp:*}:*": SERVERS,
  "yard:mcp:*": SERVERS,
  "yard:{catalogue}:*": DEFINITIONS,
  "yard:skill:*": DEFINITIONS,
  "yard:agent:*": DEFINITIONS,
  "yard:{agent:*}:memory":
    "owner and agent, or the agent alone where its file and the policy have it shared (see the rows of run.start)",
  "yard:audit:{policy}:heads": INSTALLATION,
  "yard:audit:{broker}:heads": INSTALLATION,
  "yard:audit:{runner}:heads": INSTALLATION,
  "yard:audit:{toolbox}:heads": INSTALLATION,
};

/** Every pattern that a service may write. */
export const redisPatterns: readonly string[] = [
  ...new Set(serviceRedisUsers.flatMap(({ keys }) => keys)),
].toSorted();

/** True when a key belongs to the family of a pattern; `*` stands for anything, as in Redis. */
export function isOfFamily(pattern: string, key: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(key);
}
