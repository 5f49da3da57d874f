import { auditEnv } from "@switchyard/audit/start-audit";
import {
  adminsEnv,
  natsEnv,
  processEnv,
  redisEnv,
  stateEnv,
  parsedBy,
} from "@switchyard/service/env";
import { z } from "zod";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";

/** The broker's environment. */
export const brokerEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  ...adminsEnv,
  /** JSON file with the MCP servers; both `{"servers":[…]}` and `{"mcpServers":{…}}` are read. */
  YARD_MCP_SERVERS_FILE: z.string().min(1),
  /** Addresses beside the public ones that HTTP servers may have: `loopback`, `private`, IP, CIDR. */
  YARD_MCP_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
  /** Directory that servers receive as their root, unless their entry has roots of its own. */
  YARD_WORKSPACE: z.string().optional(),
  /** The sandbox of stdio servers whose entry does not configure one: see `isolate-server.ts`. */
  YARD_MCP_SANDBOX: z.enum(["require", "prefer", "off"]).default("require"),
  /** The broker records its child processes there, so that the next one can end leftovers. */
  ...stateEnv,
});
