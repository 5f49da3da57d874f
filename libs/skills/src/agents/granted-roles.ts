import type { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import type { Provenance } from "@switchyard/contracts/skill-importer/definition-store";
import { matchesGlob } from "@switchyard/contracts/glob";
import { commaSeparated } from "@switchyard/service/env";
import { z } from "zod";

/** A role that agents may have which a NATS user sends. */
export interface GrantedRole {
  /** Globs. */
  readonly by: string;
  readonly role: string;
}

const GLOB = /^[A-Za-z0-9*?][A-Za-z0-9_*?-]{0,63}$/;

/** `team-a:planner, *:reader`: which roles agents may have that clients send, by the user that sent them. */
export const GrantedRoles = z.string().transform((list, context): GrantedRole[] =>
  commaSeparated(list).flatMap((entry) => {
    const [by = "", role = "", ...more] = entry.split(":");
    if (more.length === 0 && GLOB.test(by) && GLOB.test(role)) return [{ by, role }];
    context.addIssue({
      code: "custom",
      message: `${JSON.stringify(entry)} is not a user and role, such as team-a:planner (* and ? stand for others)`,
    });
    return [];
  }),
);

/**
 * Returns the definition with the roles that its source may grant. An operator who mounts a directory into the importer may grant
 * any role; a client that sends a file only those of the setting, because rules and MCP servers trust roles.
 */
export function withGrantedRoles(
  agent: AgentDefinition,
  provenance: Provenance | null,
  granted: readonly GrantedRole[],
): AgentDefinition {
  if (agent.source !== "imported" || provenance?.source === "root") return agent;
  const by = provenance?.by;
  const isGranted = (role: string): boolean =>
    by !== undefined &&
    granted.some((one) => matchesGlob(one.by, by) && matchesGlob(one.role, role));
  return { ...agent, roles: agent.roles.filter(isGranted) };
}
