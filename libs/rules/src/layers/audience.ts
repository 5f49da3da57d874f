import { matchesGlob } from "@switchyard/contracts/glob";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { For } from "../schema/selector-schema.ts";

/** True when a layer or a budget with this `for` is about the principal. All selectors that are given must match. */
export function isAbout(about: For | undefined, principal: Principal): boolean {
  if (about === undefined) return true;
  const { user, agent, roles, context = {} } = principal;
  const { channel, group, model, depth } = context;
  return (
    selects(about.users, user) &&
    selects(about.agents, agent) &&
    (about.roles === undefined || roles?.some((role) => selects(about.roles, role)) === true) &&
    selects(about.channels, channel) &&
    selects(about.groups, group) &&
    (about.providers === undefined || usesProvider(about.providers, model)) &&
    (about.subAgents === undefined || about.subAgents === (depth !== undefined))
  );
}

function selects(globs: readonly string[] | undefined, name: string | null | undefined): boolean {
  if (globs === undefined) return true;
  return name !== null && name !== undefined && globs.some((glob) => matchesGlob(glob, name));
}

/** `anthropic` is every model of it, `anthropic/claude-*` some. */
function usesProvider(globs: readonly string[], model: string | undefined): boolean {
  const provider = model?.split("/", 1)[0];
  return globs.some((glob) => selects([glob], glob.includes("/") ? model : provider));
}
