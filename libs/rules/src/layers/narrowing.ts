import { matchesGlob } from "@switchyard/contracts/glob";
import type { Principal, ServerFacts } from "@switchyard/contracts/policy/policy";
import { fileAccessOf } from "@switchyard/contracts/toolbox/file-access";
import type { ConsideredLimit } from "@switchyard/contracts/policy/policy-explain";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { matchesTool, type ToolPattern } from "@switchyard/contracts/tool-patterns";
import type { Bundle } from "../schema/bundle.ts";
import { refusingLayer, type ToolLayers } from "./tool-layers.ts";
import { isAbout } from "./audience.ts";
import type { Layer } from "../schema/layer-schema.ts";
import { expandToolPattern } from "../schema/tool-groups.ts";
import {
  DEFAULT_LEAF_DEPTH,
  LEAF_DENIED,
  OWNER_ONLY,
  SUB_AGENT_DENIED,
  TOOL_PROFILES,
} from "../schema/tool-profiles.ts";

/**
 * The narrowings beside the rules: the run token, the settings of the server's administrator, the owners of the installation,
 * sub-agents, and the layers of the bundle. A tool has to pass all of them, so their order changes only the name in a refusal,
 * and none of them can widen anything.
 */
export interface NarrowedCall {
  readonly principal: Principal;
  readonly tool: ToolRef;
  /** The tool layers of the run token; null when the call came without a token. */
  readonly layers: ToolLayers | null;
  readonly server?: ServerFacts | undefined;
  /** Left out to check whether any call could pass. */
  readonly args?: Readonly<Record<string, unknown>> | undefined;
}

export interface Narrowing {
  /** Returns null when the narrowing is not about the call. The text of the judgement is built lazily. */
  readonly judge: (call: NarrowedCall) => Judgement | null;
  /** Set for a layer: its id, whether it applies to every principal, and whether it excludes a tool. */
  readonly layer?: {
    readonly id: string;
    readonly isForEverybody: boolean;
    readonly keepsOut: (tool: ToolRef) => boolean;
  };
}

interface Judgement extends Omit<ConsideredLimit, "detail"> {
  readonly detail: () => string;
}

export function compileNarrowings(bundle: Bundle): readonly Narrowing[] {
  const profiles: Readonly<Record<string, readonly string[]>> = {
    ...bundle.profiles,
    ...TOOL_PROFILES,
  };
  return [
    { judge: byToken },
    { judge: byServer },
    { judge: byOwner(bundle) },
    { judge: bySubAgents(bundle) },
    ...(bundle.layers ?? []).map((layer) => byLayer(layer, profiles)),
  ];
}

/**
 * Returns the first narrowing that excludes the tool, or null when all let it pass. Narrowings are about the tools that an agent calls, and
 * about no file access.
 */
export function firstRefusal(
  narrowings: readonly Narrowing[],
  call: NarrowedCall,
): ConsideredLimit | null {
  if (fileAccessOf(call.tool) !== null) return null;
  for (const { judge } of narrowings) {
    const judged = judge(call);
    if (judged !== null && !judged.passes) return { ...judged, detail: judged.detail() };
  }
  return null;
}

/** Returns all narrowings that are about the call, those that exclude the tool first. */
export function allNarrowings(
  narrowings: readonly Narrowing[],
  call: NarrowedCall,
): ConsideredLimit[] {
  if (fileAccessOf(call.tool) !== null) return [];
  return narrowings
    .flatMap(({ judge }) => {
      const judged = judge(call);
      return judged === null ? [] : [{ ...judged, detail: judged.detail() }];
    })
    .toSorted((a, b) => Number(a.passes) - Number(b.passes));
}

function byToken({ principal, tool, layers, args }: NarrowedCall): Judgement | null {
  if (layers === null) return null;
  const refusing = refusingLayer(layers, tool, args);
  return {
    kind: "token",
    name: "run token",
    passes: refusing === null,
    detail: () =>
      refusing === null
        ? "its run token lets the tool pass"
        : `${nameOf(principal)} may not use ${tool.name}: its run token lets pass ${listed(refusing.texts)}`,
  };
}

/** `allowedAgentRoles` and `enabledTools` of the server. A person who calls without a run token has no role and needs none. */
function byServer({ principal, tool, server }: NarrowedCall): Judgement | null {
  if (tool.server === null || (server?.roles === undefined && server?.enabledTools === undefined))
    return null;
  const { roles, enabledTools } = server;
  const isOpen =
    roles === undefined ||
    principal.agent === null ||
    principal.roles?.some((role) => roles.includes(role)) === true;
  const isEnabled =
    enabledTools === undefined || enabledTools.some((glob) => matchesGlob(glob, tool.tool));
  const own = principal.roles?.join(", ") ?? "no role";
  return {
    kind: "server",
    name: tool.server,
    passes: isOpen && isEnabled,
    detail: () => {
      if (!isOpen)
        return `server ${tool.server} is kept for agents with one of the roles ${roles.join(", ")}; ${nameOf(principal)} has ${own} (allowedAgentRoles of the server, roles of the agent)`;
      if (!isEnabled)
        return `server ${tool.server} has only the tools ${enabledTools.join(", ")} (enabledTools of the server)`;
      return "allowedAgentRoles and enabledTools of the server let it pass";
    },
  };
}

function byOwner({ owners }: Pick<Bundle, "owners">): Narrowing["judge"] {
  const only = [...OWNER_ONLY, ...(owners?.only ?? [])].flatMap(expandToolPattern);
  return ({ principal, tool }) => {
    if (!matchesAny(only, tool)) return null;
    const passes = isOwner(owners?.users ?? [], principal);
    return {
      kind: "owner",
      name: "owners",
      passes,
      detail: () =>
        passes
          ? `${nameOf(principal)} acts for an owner`
          : `${tool.name} is for owners of the installation alone (owners.users in the policy, or the run's origin)`,
    };
  };
}

/** The origin of the run decides; without one the user does, but never for a message that came through a channel. */
function isOwner(users: readonly string[], { user, context }: Principal): boolean {
  if (context?.owner !== undefined) return context.owner;
  return context?.channel === undefined && users.some((glob) => matchesGlob(glob, user));
}

function bySubAgents({ subAgents }: Pick<Bundle, "subAgents">): Narrowing["judge"] {
  const denied = SUB_AGENT_DENIED.flatMap(expandToolPattern);
  const deniedToLeaves = LEAF_DENIED.flatMap(expandToolPattern);
  const lifted = (subAgents?.alsoAllow ?? []).flatMap(expandToolPattern);
  const leafDepth = subAgents?.leafDepth ?? DEFAULT_LEAF_DEPTH;
  return ({ principal, tool }) => {
    const depth = principal.context?.depth;
    if (depth === undefined) return null;
    const isKept =
      matchesAny(denied, tool) || (depth >= leafDepth && matchesAny(deniedToLeaves, tool));
    const passes = !isKept || matchesAny(lifted, tool);
    return {
      kind: "sub-agent",
      name: `depth ${depth}`,
      passes,
      detail: () =>
        passes
          ? "it is not kept from sub-agents"
          : `${tool.name} is kept from sub-agents of depth ${depth} (subAgents.alsoAllow in the policy)`,
    };
  };
}

function byLayer(layer: Layer, profiles: Readonly<Record<string, readonly string[]>>): Narrowing {
  const { id, profile, alsoAllow = [], allow, deny = [] } = layer;
  const profiled =
    profile === undefined
      ? null
      : [...(profiles[profile] ?? []), ...alsoAllow].flatMap(expandToolPattern);
  const allowed = allow?.flatMap(expandToolPattern) ?? null;
  const denied = deny.flatMap(expandToolPattern);
  const refusal = (tool: ToolRef): string | null => {
    if (matchesAny(denied, tool)) return "denies it";
    if (profiled !== null && !matchesAny(profiled, tool))
      return `leaves it out of its profile ${profile}`;
    if (allowed !== null && !matchesAny(allowed, tool)) return `allows ${listed(allow ?? [])}`;
    return null;
  };
  return {
    layer: {
      id,
      isForEverybody: layer.for === undefined,
      keepsOut: (tool) => refusal(tool) !== null,
    },
    judge({ principal, tool }) {
      if (!isAbout(layer.for, principal)) return null;
      const why = refusal(tool);
      return {
        kind: "layer",
        name: id,
        passes: why === null,
        detail: () =>
          why === null
            ? `layer ${id} lets ${tool.name} pass`
            : `${nameOf(principal)} may not use ${tool.name}: layer ${id} ${why}`,
      };
    },
  };
}

function matchesAny(patterns: readonly ToolPattern[], tool: ToolRef): boolean {
  return patterns.some((pattern) => matchesTool(pattern, tool));
}

function listed(texts: readonly string[]): string {
  if (texts.length === 0) return "no tool";
  const more = texts.length > 5 ? `, and ${texts.length - 5} more` : "";
  return `only ${texts.slice(0, 5).join(", ")}${more}`;
}

/** Names the principal of a call for use in sentences. */
export function nameOf(principal: Principal): string {
  return principal.agent === null ? `user ${principal.user}` : `agent ${principal.agent}`;
}
