import {
  distinctLayers,
  layerWithout,
  MAX_LAYER_PATTERNS,
  MAX_PATTERN_LENGTH,
  MAX_TOOL_LAYERS,
} from "@switchyard/contracts/policy/run-token";
import { z } from "zod";

/** The tools that a skill leaves to a run that has read its text; a skill can only remove tools. */
export const ToolNarrowing = z.object({
  /** Patterns of the tools that stay; null: the skill names none. */
  allowed: z.array(z.string()).nullable(),
  /** Patterns of the tools that go. */
  forbidden: z.array(z.string()),
});
export type ToolNarrowing = z.infer<typeof ToolNarrowing>;

/** Converts the tool lists in the reply of `skills.render`; null when it leaves all tools. */
export function narrowingOf(skill: {
  readonly allowedTools: readonly string[] | null;
  readonly disallowedTools?: readonly string[] | undefined;
}): ToolNarrowing | null {
  const { allowedTools, disallowedTools = [] } = skill;
  if (allowedTools === null && disallowedTools.length === 0) return null;
  return {
    allowed: allowedTools === null ? null : [...allowedTools],
    forbidden: [...disallowedTools],
  };
}

/**
 * Returns the layers of a run that has read these skills: a tool must pass the agent's own and those of every skill. More layers
 * than a run token can hold let no tool pass.
 */
export function narrowedLayers(
  own: readonly (readonly string[])[],
  narrowings: readonly ToolNarrowing[],
): string[][] {
  const layers = layersWith(own, narrowings);
  return layers.length > MAX_TOOL_LAYERS ? [[]] : layers;
}

/** False when a run token has no room for the layers after one more skill. */
export function hasRoomFor(
  narrowing: ToolNarrowing,
  own: readonly (readonly string[])[],
  narrowings: readonly ToolNarrowing[],
): boolean {
  return layersWith(own, [...narrowings, narrowing]).length <= MAX_TOOL_LAYERS;
}

function layersWith(
  own: readonly (readonly string[])[],
  narrowings: readonly ToolNarrowing[],
): string[][] {
  const without = layerWithout([...new Set(narrowings.flatMap(({ forbidden }) => forbidden))]);
  const allowed = narrowings.flatMap((narrowing) =>
    narrowing.allowed === null ? [] : [fitting(narrowing.allowed)],
  );
  return distinctLayers([...own, ...allowed, ...(without === null ? [] : [without])]);
}

/** A pattern that is not in the token matches no tool, so dropping one only allows less. */
function fitting(patterns: readonly string[]): string[] {
  const carried = patterns.filter((text) => text !== "" && text.length <= MAX_PATTERN_LENGTH);
  return carried.slice(0, MAX_LAYER_PATTERNS);
}
