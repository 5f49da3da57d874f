/**
 * The profiles that every installation has, as OpenClaw defines them. `full` is no limit. A policy may define others, and may not
 * redefine these names.
 */
export const TOOL_PROFILES = {
  minimal: ["session_status"],
  coding: ["group:fs", "group:runtime", "group:sessions", "group:memory", "image"],
  messaging: [
    "group:messaging",
    "sessions_list",
    "sessions_history",
    "sessions_send",
    "session_status",
  ],
  full: ["*"],
} as const satisfies Record<string, readonly string[]>;

export const toolProfileNames: readonly string[] = Object.keys(TOOL_PROFILES);

/** Denied to every sub-agent, unless the policy's `subAgents.alsoAllow` names it. */
export const SUB_AGENT_DENIED = [
  "group:gateway",
  "group:cron",
  "agents_list",
  "whatsapp_login",
  "session_status",
  "sessions_send",
] as const;

/** Denied, in addition, to sub-agents that are too deep to start others. */
export const LEAF_DENIED = ["sessions_list", "sessions_history", "sessions_spawn"] as const;

/** Sub-agents of an agent are leaves unless the policy says otherwise. */
export const DEFAULT_LEAF_DEPTH = 1;

/** Reserved for the owners of the installation. */
export const OWNER_ONLY = ["group:cron", "group:gateway", "nodes", "canvas", "browser"] as const;
