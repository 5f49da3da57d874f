import {
  matchesTool,
  parseToolPattern,
  type ToolPattern,
  type ToolRef,
} from "@switchyard/contracts/tool-names";

/**
 * The tool patterns of a run token, parsed once. A tool passes when every layer has a pattern for it, and
 * none that begins with `!`.
 */
export type ToolLayers = readonly ToolLayer[];

export interface ToolLayer {
  readonly texts: readonly string[];
  readonly patterns: readonly ToolPattern[];
  /** Those that were written with a `!`. */
  readonly excluded: readonly ToolPattern[];
}

export function compileToolLayers(layers: readonly (readonly string[])[]): ToolLayers {
  return layers.map((texts) => ({
    texts,
    patterns: texts.filter((text) => !text.startsWith("!")).map(parseToolPattern),
    excluded: texts
      .filter((text) => text.startsWith("!"))
      .map((text) => parseToolPattern(text.slice(1))),
  }));
}

/** The first layer that keeps the tool out, or null when all let it pass. */
export function refusingLayer(layers: ToolLayers, tool: ToolRef): ToolLayer | null {
  return layers.find((layer) => !passes(layer, tool)) ?? null;
}

function passes({ patterns, excluded }: ToolLayer, tool: ToolRef): boolean {
  return (
    patterns.some((pattern) => matchesTool(pattern, tool)) &&
    !excluded.some((pattern) => matchesTool(pattern, tool))
  );
}
