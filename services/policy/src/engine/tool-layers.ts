import {
  matchesTool,
  parseToolPattern,
  type ToolPattern,
  type ToolRef,
} from "@switchyard/contracts/tool-names";

/** The tool patterns of a run token, parsed once. A tool passes when every layer has a pattern for it. */
export type ToolLayers = readonly ToolLayer[];

export interface ToolLayer {
  readonly texts: readonly string[];
  readonly patterns: readonly ToolPattern[];
}

export function compileToolLayers(layers: readonly (readonly string[])[]): ToolLayers {
  return layers.map((texts) => ({ texts, patterns: texts.map(parseToolPattern) }));
}

/** The first layer that keeps the tool out, or null when all let it pass. */
export function refusingLayer(layers: ToolLayers, tool: ToolRef): ToolLayer | null {
  return (
    layers.find((layer) => !layer.patterns.some((pattern) => matchesTool(pattern, tool))) ?? null
  );
}
