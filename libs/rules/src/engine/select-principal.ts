import { matchesGlob } from "@switchyard/contracts/glob";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { CompiledRule } from "../bundle/compile-bundle.ts";

/** True when the rule is about the acting principal: each part of its `who` matches. */
export function selectsPrincipal(rule: CompiledRule, principal: Principal): boolean {
  return PRINCIPAL_SELECTORS.every(({ selects }) => selects(rule, principal));
}

/** The parts of `who`: the rule's selector, the principal's value, and whether they match. */
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

/** A user may do by hand what such a rule allows, so dictating a run gains the requester no access. */
function isForUsers({ agents, roles, channels, groups }: CompiledRule): boolean {
  return agents === null && roles === null && channels === null && groups === null;
}

function selectsName(globs: readonly string[] | null, name: string | null | undefined): boolean {
  if (globs === null) return true;
  return name !== null && name !== undefined && globs.some((glob) => matchesGlob(glob, name));
}
