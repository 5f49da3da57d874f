import { delimiter, isAbsolute } from "node:path";
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
import type { SecurityMode } from "./workspace/workspace.ts";

/** The environment of the toolbox; docs/reference/settings.md explains each variable. */
export const toolboxEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  YARD_WORKSPACE: z.string().min(1).optional(),
  YARD_WORKSPACES_DIR: z.string().min(1).optional(),
  YARD_WORKSPACE_SCOPE: z.enum(["run", "session"]).default("run"),
  YARD_WORKSPACE_MB: envInteger(1, 1_073_741_824).default(2_048),
  YARD_CONFIG_DIR: z.string().min(1).optional(),
  YARD_TOOLS_FILE: z.string().min(1).optional(),
  YARD_SANDBOX: z.enum(["auto", "require", "off", "full-control"]).default("auto"),
  /** The PATH on which bubblewrap is searched, and the first part of that of commands. */
  PATH: z.string().default(""),
  YARD_BIN_DIR: z.string().min(1).optional(),
  YARD_SANDBOX_READABLE: z
    .string()
    .default("")
    .transform((list) => list.split(delimiter).filter((path) => path !== "")),
  YARD_SANDBOX_NETWORK: envFlag().default(false),
  YARD_COMMAND_MEMORY_MB: envInteger(16, 1_048_576).default(2_048),
  YARD_WEB_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
});
export type ToolboxConfig = z.output<typeof toolboxEnv>;

/** File tools reach into the workspace alone, or with full control wherever the process may. */
export function securityMode({ YARD_SANDBOX: sandbox }: ToolboxConfig): SecurityMode {
  return sandbox === "full-control" ? sandbox : "limited-control";
}

/** The PATH of commands: that of the toolbox, and the system's own directories, which a sandbox always shows. */
export function commandPath({ PATH: path }: ToolboxConfig): string {
  const own = path.split(delimiter).filter(isAbsolute);
  return [...own, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
}

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
