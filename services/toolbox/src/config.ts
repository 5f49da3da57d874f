import { delimiter } from "node:path";
import { auditEnv } from "@switchyard/audit/start-audit";
import {
  envFlag,
  envInteger,
  natsEnv,
  processEnv,
  redisEnv,
  parsedBy,
} from "@switchyard/service/env";
import { constant } from "@switchyard/service/constant";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { z } from "zod";
import type { CommandLimits } from "./command/command-limits.ts";

/** The environment of the toolbox; docs/reference/settings.md explains each variable. */
export const toolboxEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  YARD_TOOLBOX_MODE: z.enum(["limited-control", "full-control"]).default("limited-control"),
  YARD_WORKSPACE: z.string().min(1).optional(),
  YARD_WORKSPACES_DIR: z.string().min(1).optional(),
  YARD_WORKSPACE_SCOPE: z.enum(["run", "session"]).default("run"),
  YARD_WORKSPACE_MB: envInteger(1, 1_073_741_824).default(2_048),
  YARD_CONFIG_DIR: z.string().min(1).optional(),
  YARD_TOOLS_FILE: z.string().min(1).optional(),
  YARD_SANDBOX: z.enum(["auto", "require", "off"]).default("auto"),
  /** The PATH on which bubblewrap is searched; commands have another one. */
  PATH: z.string().default(""),
  YARD_BWRAP_BIN: z.string().min(1).optional(),
  YARD_SANDBOX_READABLE: z
    .string()
    .default("")
    .transform((list) => list.split(delimiter).filter((path) => path !== "")),
  YARD_SANDBOX_NETWORK: envFlag().default(false),
  YARD_COMMAND_MEMORY_MB: envInteger(16, 1_048_576).default(2_048),
  YARD_COMMAND_PATH: z.string().min(1).default("/usr/local/bin:/usr/bin:/bin"),
  YARD_WEB_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
});
export type ToolboxConfig = z.output<typeof toolboxEnv>;

/** Name of the setting that permits private addresses, for messages. */
export const WEB_HOSTS_SETTING = "YARD_WEB_ALLOW_PRIVATE_HOSTS";

export const MIB = 1_024 * 1_024;

/** Returns the limits of a command: those of the settings, and those that no setting changes. */
export function commandLimits(config: ToolboxConfig): CommandLimits {
  return {
    processes: constant("commandProcesses", 512),
    memoryBytes: config.YARD_COMMAND_MEMORY_MB * MIB,
    cpuSeconds: 600,
    fileBytes: 1_024 * MIB,
    tmpBytes: 512 * MIB,
  };
}
