import {
  distinctLayers,
  layerWithout,
  MAX_LAYER_PATTERNS,
  MAX_PATTERN_LENGTH,
  MAX_TOOL_LAYERS,
} from "@switchyard/contracts/run-token";
import { z } from "zod";

/** What a skill whose text a run has read lets the run call; it can only take tools away. */
export const ToolNarrowing = z.object({
  /** Patterns of the tools that stay; null: the skill names none. */
  allowed: z.array(z.string()).nullable(),
  /** Patterns of the tools that go. */
  forbidden: z.array(z.string()),
});
export type ToolNarrowing = z.infer<typeof ToolNarrowing>;

/** What `skills.render` says of a skill's tools; null when it leaves them all. */
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
 * The layers of a run that has read these skills: a tool must pass the agent's own and those of every
 * skill. More than a run token holds let nothing pass.
 */
export function narrowedLayers(
  own: readonly (readonly string[])[],
  narrowings: readonly ToolNarrowing[],
): string[][] {
  const layers = layersWith(own, narrowings);
  return layers.length > MAX_TOOL_LAYERS ? [[]] : layers;
}

/** False when a run token cannot say what would be left after one skill more. */
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

/** What a token does not carry, no tool is called by; one pattern less allows less. */
function fitting(patterns: readonly string[]): string[] {
  const carried = patterns.filter((text) => text !== "" && text.length <= MAX_PATTERN_LENGTH);
  return carried.slice(0, MAX_LAYER_PATTERNS);
}
