import { matchesGlob } from "@switchyard/contracts/glob";
import type { Principal } from "@switchyard/contracts/policy";
import type { CompiledRule } from "../bundle/compile-bundle.ts";

/** True when the rule is about whoever acts: each part of its `who` fits. */
export function selectsPrincipal(rule: CompiledRule, principal: Principal): boolean {
  return PRINCIPAL_SELECTORS.every(({ selects }) => selects(rule, principal));
}

/** Each part of `who`: what the rule wants, what the principal has, and whether it fits. */
export const PRINCIPAL_SELECTORS = [
  {
    part: "who.agents",
    wanted: (rule) => rule.agents,
    got: ({ agent }) => agent ?? "no agent",
    selects: ({ agents }, { agent }) => selectsName(agents, agent),
  },
  {
    part: "who.users",
    wanted: (rule) => rule.users,
    got: ({ user }) => user,
    selects: ({ users }, { user }) => selectsName(users, user),
  },
  {
    part: "who.roles",
    wanted: (rule) => rule.roles,
    got: ({ roles }) => roles?.join(", ") ?? "no role",
    selects: ({ roles }, principal) =>
      roles === null || principal.roles?.some((role) => selectsName(roles, role)) === true,
  },
  {
    part: "who.channels",
    wanted: (rule) => rule.channels,
    got: ({ context }) => context?.channel ?? "no channel",
    selects: ({ channels }, { context }) => selectsName(channels, context?.channel),
  },
  {
    part: "who.groups",
    wanted: (rule) => rule.groups,
    got: ({ context }) => context?.group ?? "no group",
    selects: ({ groups }, { context }) => selectsName(groups, context?.group),
  },
  {
    part: "who.replayed",
    wanted: (rule) => [rule.replayed ? "any run" : "no replayed run"],
    got: ({ context }) => (context?.replayed === true ? "a replayed run" : "no replayed run"),
    selects: (rule, { context }) =>
      context?.replayed !== true || rule.effect === "deny" || rule.replayed || isForUsers(rule),
  },
] as const satisfies readonly {
  readonly part: string;
  readonly wanted: (rule: CompiledRule) => readonly string[] | null;
  readonly got: (principal: Principal) => string;
  readonly selects: (rule: CompiledRule, principal: Principal) => boolean;
}[];

/** What it allows a user may do by hand, so whoever dictates a run gains nothing by it. */
function isForUsers({ agents, roles, channels, groups }: CompiledRule): boolean {
  return agents === null && roles === null && channels === null && groups === null;
}

function selectsName(globs: readonly string[] | null, name: string | null | undefined): boolean {
  if (globs === null) return true;
  return name !== null && name !== undefined && globs.some((glob) => matchesGlob(glob, name));
}
