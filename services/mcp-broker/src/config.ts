import { homedir } from "node:os";
import { join } from "node:path";
import { auditEnv } from "@switchyard/audit/start-audit";
import {
  commaSeparated,
  envInteger,
  natsEnv,
  processEnv,
  redisEnv,
  parsedBy,
} from "@switchyard/service/env";
import { z } from "zod";
import { parseTokenKeys } from "./auth/token-cipher.ts";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";

/** The broker's environment. */
export const brokerEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  /** JSON file with the MCP servers; both `{"servers":[…]}` and `{"mcpServers":{…}}` are read. */
  YARD_MCP_SERVERS_FILE: z.string().min(1),
  /** NATS users that may add, change, connect and remove servers over the bus, with commas. */
  YARD_MCP_ADMINS: z.string().default("cli,admin").transform(commaSeparated),
  /** `on`: decisions that the policy marks as cacheable are cached for as long as it promises. */
  YARD_MCP_DECISION_CACHE: z.enum(["on", "off"]).default("on"),
  /** Addresses beside the public ones that HTTP servers may have: `loopback`, `private`, IP, CIDR. */
  YARD_MCP_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
  /** Keys that encrypt logins to servers: 32 bytes in base64 or hex, the first one encrypts. */
  YARD_MCP_TOKEN_KEY: z.string().default("").transform(parsedBy(parseTokenKeys)),
  /** A file with such keys, for operators who keep secrets out of the environment; read when the variable is not set. */
  YARD_MCP_TOKEN_KEY_FILE: z.string().min(1).optional(),
  /** A file with the keys that encrypt the values behind masks; the toolbox has the same. */
  YARD_MASKS_KEY_FILE: z.string().min(1).optional(),
  /** A server stays its owner's for this time without a sign of life of the owner. */
  YARD_MCP_LEASE_MS: envInteger(500, 600_000).default(5_000),
  /** The most servers that this broker owns. */
  YARD_MCP_OWNED_LIMIT: envInteger(1, 10_000).default(256),
  /** At most one server moves to a broker with fewer servers in this time. */
  YARD_MCP_REBALANCE_MS: envInteger(100, 86_400_000).default(30_000),
  /** The time for which a question of a server waits for a person's answer at most. */
  YARD_MCP_QUESTION_MS: envInteger(1_000, 86_400_000).default(600_000),
  /** Directory that servers receive as their root, unless their entry has roots of its own. */
  YARD_WORKSPACE: z.string().optional(),
  /** The sandbox of stdio servers whose entry does not configure one: see `isolate-server.ts`. */
  YARD_MCP_SANDBOX: z.enum(["require", "prefer", "off"]).default("require"),
  /** The directory in which the broker records its child processes, so that the next one can end leftovers. */
  YARD_STATE_DIR: z
    .string()
    .min(1)
    .default(join(homedir(), ".local", "state", "switchyard")),
});
