import { homedir } from "node:os";
import { join } from "node:path";
import { natsEnv, processEnv, redisEnv } from "@switchyard/service/env";
import { z } from "zod";

/** The broker's environment. */
export const brokerEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  /** JSON file with the MCP servers; both `{"servers":[…]}` and `{"mcpServers":{…}}` are read. */
  YARD_MCP_SERVERS_FILE: z.string().min(1),
  /** NATS users that may add, change, connect and remove servers over the bus, with commas. */
  YARD_MCP_ADMINS: z
    .string()
    .default("cli,admin")
    .transform((list) =>
      list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== ""),
    ),
  /** Where the broker keeps records of its child processes, so that the next one can end leftovers. */
  YARD_STATE_DIR: z
    .string()
    .min(1)
    .default(join(homedir(), ".local", "state", "switchyard")),
});
