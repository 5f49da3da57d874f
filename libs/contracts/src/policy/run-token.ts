import { z } from "zod";
import { ApprovalTier } from "./approval-tier.ts";
import { commandLimit, runsCommands } from "../toolbox/command-limit.ts";
import { AgentName, CallerName, RunId } from "../ids.ts";
import { RunContext } from "../agent-runner/run-context.ts";
import type { ToolRef } from "../tool-names.ts";
import { matchesTool } from "../tool-patterns.ts";

/** `iss` and `aud` of every run token. */
export const RUN_TOKEN_ISSUER = "switchyard/policy";
export const RUN_TOKEN_AUDIENCE = "switchyard/tools";

/** Characters that a run token may have: it travels in every tool call. */
export const RUN_TOKEN_MAX_LENGTH = 8_192;

/** A run token on the wire: compact JWS. */
export const RunToken = z.string().min(1).max(RUN_TOKEN_MAX_LENGTH);

/** A duty of an agent, such as `planner`: MCP servers can be reserved for some roles. */
export const RoleName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "must be 1-64 characters of A-Z a-z 0-9 _ -");
export const MAX_ROLES = 16;

/** Characters of a tool pattern, and patterns of a layer. */
export const MAX_PATTERN_LENGTH = 256;
export const MAX_LAYER_PATTERNS = 256;

/** Layers of tool patterns that a run token holds. */
export const MAX_TOOL_LAYERS = 16;

/**
 * The claims of a run token: the agent that acts in a tool call. The policy service signs them (compact JWS, EdDSA); an agent, run or
 * requester is trusted only from here or from the subject. Times are seconds since the Unix epoch (RFC 7519).
 */
export const RunTokenClaims = z.strictObject({
  iss: z.literal(RUN_TOKEN_ISSUER),
  aud: z.literal(RUN_TOKEN_AUDIENCE),
  /** The agent. */
  sub: AgentName,
  run: RunId,
  /** The epoch of the claim of the runner that it was issued to: calls of an older one are refused. Absent in older tokens. */
  epoch: z.int().positive().optional(),
  /** Set when the token only holds what the run hands down to its children: no call is made with it. */
  handsDown: z.literal(true).optional(),
  /** The NATS user whose command started the run. */
  requester: CallerName,
  /** The NATS user that may present the token: the one that it was issued to. Absent in older ones: any user. */
  holder: CallerName.optional(),
  /**
   * The tools that the run may call, as layers of patterns: a tool passes when every layer has a pattern that matches it and none that
   * begins with `!` does. No layer means no restriction here; an empty layer lets nothing pass. `execute_command(git add:*)` matches the
   * calls whose command begins so.
   */
  tools: z
    .array(z.array(z.string().min(1).max(MAX_PATTERN_LENGTH)).max(MAX_LAYER_PATTERNS))
    .max(MAX_TOOL_LAYERS),
  /** The agent's roles; absent means none. */
  roles: z.array(RoleName).max(MAX_ROLES).optional(),
  /** The least approval that each call needs from people, from the agent; absent: the rules alone decide. */
  approval: ApprovalTier.optional(),
  /** The origin of the run, and its parent. */
  context: RunContext.optional(),
  iat: z.int().nonnegative(),
  exp: z.int().positive(),
});
export type RunTokenClaims = z.infer<typeof RunTokenClaims>;

/** The layers without those that repeat another one: the result is the same. */
export function distinctLayers(layers: readonly (readonly string[])[]): string[][] {
  if (layers.length === 1) return layers.map((layer) => [...layer]);
  const byText = new Map(layers.map((layer) => [JSON.stringify(layer.toSorted()), [...layer]]));
  return [...byText.values()];
}

/** True when every layer of the token lets the tool pass, with whatever arguments. */
export function tokenAllowsTool(claims: Pick<RunTokenClaims, "tools">, ref: ToolRef): boolean {
  return claims.tools.every((layer) => layerAllowsTool(layer, ref));
}

/**
 * True when one of the layer's patterns matches the tool, and none of those that begin with `!` does. A tool whose commands are limited
 * passes: the policy decides about the arguments.
 */
export function layerAllowsTool(layer: readonly string[], ref: ToolRef): boolean {
  const isAbout = (pattern: string): boolean =>
    matchesTool(pattern, ref) || (runsCommands(ref) && commandLimit(pattern) !== null);
  return (
    layer.some((pattern) => !pattern.startsWith("!") && isAbout(pattern)) &&
    !layer.some((pattern) => pattern.startsWith("!") && isAbout(pattern.slice(1)))
  );
}

/** The layer that lets everything pass except these tools; null when it would exclude nothing. */
export function layerWithout(patterns: readonly string[]): string[] | null {
  // The claim's own limits: a longer pattern is not a tool's, and a layer with too many excludes all.
  const kept = patterns.filter(
    (pattern) => pattern !== "" && pattern.length <= MAX_PATTERN_LENGTH - 1,
  );
  if (kept.length === 0) return null;
  if (kept.length >= MAX_LAYER_PATTERNS || kept.includes("*")) return [];
  return ["*", ...kept.map((pattern) => `!${pattern}`)];
}

/**
 * The tool layers of a run that works for another: the parent's layers and one more. Adding a layer can only narrow, so a child never
 * reaches a tool that its parent does not.
 */
export function narrowTools(
  parent: RunTokenClaims["tools"],
  layer: readonly string[] | null,
): RunTokenClaims["tools"] {
  return layer === null ? parent : [...parent, [...layer]];
}

/** True while the token is valid: `iat` ≤ now < `exp`, with a tolerance for clocks that differ, in seconds. */
export function isTokenCurrent(
  claims: Pick<RunTokenClaims, "iat" | "exp">,
  nowMs: number,
  toleranceSeconds = 5,
): boolean {
  const now = nowMs / 1000;
  return now + toleranceSeconds >= claims.iat && now < claims.exp;
}
