import { delimiter } from "node:path";
import { auditEnv } from "@switchyard/service/audit/start-audit";
import { envFlag, envInteger, natsEnv, processEnv, redisEnv } from "@switchyard/service/env";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { z } from "zod";

/** The environment of the toolbox; the README explains each variable. */
export const toolboxEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  YARD_TOOLBOX_MODE: z.enum(["limited-control", "full-control"]).default("limited-control"),
  YARD_WORKSPACE: z.string().min(1).optional(),
  YARD_WORKSPACES_DIR: z.string().min(1).optional(),
  YARD_WORKSPACE_SCOPE: z.enum(["run", "session"]).default("run"),
  YARD_WORKSPACE_KEEP_HOURS: envInteger(1, 87_600).default(168),
  YARD_TOOLBOX_CONCURRENCY: envInteger(1, 4_096).default(32),
  YARD_TOOLBOX_DECISION_CACHE: z.enum(["on", "off"]).default("on"),
  YARD_SANDBOX: z.enum(["auto", "require", "off"]).default("auto"),
  YARD_BWRAP_BIN: z.string().min(1).optional(),
  YARD_SANDBOX_READABLE: z
    .string()
    .default("")
    .transform((list) => list.split(delimiter).filter((path) => path !== "")),
  YARD_SANDBOX_NETWORK: envFlag().default(false),
  YARD_COMMAND_PATH: z.string().min(1).default("/usr/local/bin:/usr/bin:/bin"),
  YARD_WEB_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(readHosts),
});
export type ToolboxConfig = z.output<typeof toolboxEnv>;

/** Name of the setting that permits private addresses, for messages. */
export const WEB_HOSTS_SETTING = "YARD_WEB_ALLOW_PRIVATE_HOSTS";

function readHosts(text: string, context: z.RefinementCtx<string>) {
  try {
    return parsePrivateHosts(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }
}
