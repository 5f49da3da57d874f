import { MAX_TURNS } from "@switchyard/contracts/agent-runner/run-follow-up";
import type { Log } from "@switchyard/service/log";
import { openSettingsFile, type CurrentSettings } from "@switchyard/service/settings-file";
import { z } from "zod";
import { WRITABLE_PATHS } from "./config-rules.ts";

/** Names of agents, with `*`. */
const Agents = z.array(z.string().min(1).max(64)).max(1_000);

/** A key has no room for more. */
const MAX_DEPTH = 3;

/** The reach of agents' platform tools, from `tools.json`; the names are OpenClaw's, below `tools`. */
export const ToolSettings = z.strictObject({
  sessions: z
    .strictObject({
      /** The sessions that a session sees: itself, those that it started, those of its agent, or all. */
      visibility: z.enum(["self", "tree", "agent", "all"]).default("tree"),
    })
    .prefault({}),
  agentToAgent: z
    .strictObject({
      /** With visibility `all`: includes sessions of other agents. */
      enabled: z.boolean().default(false),
      /** Both agents have to be among them. */
      allow: Agents.default(["*"]),
      /** Answers that go to and fro behind the first one. */
      maxPingPongTurns: z.int().min(0).max(MAX_TURNS).default(MAX_TURNS),
    })
    .prefault({}),
  sandbox: z
    .strictObject({
      /** The sessions visible to an agent that its starter marked as sandboxed: those that it started, or those of the visibility. */
      sessions: z.enum(["spawned", "all"]).default("spawned"),
    })
    .prefault({}),
  subagents: z
    .strictObject({
      /** The agents that `sessions_spawn` may start beside the agent of the session. */
      allowAgents: Agents.default([]),
      requireAgentId: z.boolean().default(false),
      maxSpawnDepth: z.int().min(1).max(MAX_DEPTH).default(1),
      maxChildrenPerAgent: z.int().min(1).max(20).default(5),
    })
    .prefault({}),
  gateway: z
    .strictObject({
      /** The values of the configuration that `gateway_config_*` may change. */
      writable: z
        .array(z.enum(WRITABLE_PATHS))
        .max(WRITABLE_PATHS.length)
        .default([...WRITABLE_PATHS]),
    })
    .prefault({}),
  message: z
    .strictObject({
      broadcast: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}),
      /** Messages to another chat than the one that the agent works in. */
      crossContext: z
        .strictObject({
          allowWithinProvider: z.boolean().default(true),
          allowAcrossProviders: z.boolean().default(true),
          /** Put before their texts; `{channel}` is the one that the agent works in. */
          prefix: z.string().max(200).default(""),
        })
        .prefault({}),
    })
    .prefault({}),
});
export type ToolSettings = z.output<typeof ToolSettings>;

/**
 * Reads the file of YARD_TOOLS_FILE, and again when it has changed; one that is not there is one without a setting. Rejects with a
 * StartError when it cannot be used.
 */
export async function openToolSettings(
  path: string | undefined,
  clock: { readonly log: Log; readonly now: () => number },
): Promise<CurrentSettings<ToolSettings>> {
  if (path === undefined) {
    const defaults = ToolSettings.parse({});
    return () => Promise.resolve(defaults);
  }
  return openSettingsFile(path, ToolSettings, {
    name: "settings of tools",
    hint: "correct the file of YARD_TOOLS_FILE; docs/coding-agents.md describes it",
    missing: {},
    ...clock,
  });
}
