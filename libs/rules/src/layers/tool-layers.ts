import {
  commandLimit,
  fitsCommandLimit,
  runsCommands,
  type CommandLimit,
} from "@switchyard/contracts/toolbox/command-limit";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import {
  matchesTool,
  parseToolPattern,
  type ToolPattern,
} from "@switchyard/contracts/tool-patterns";

/**
 * The tool patterns of a run token, parsed once. A tool passes when every layer has a pattern for it, and
 * none that begins with `!`.
 */
export type ToolLayers = readonly ToolLayer[];

export interface ToolLayer {
  readonly texts: readonly string[];
  readonly patterns: readonly ToolPattern[];
  /** The layers that allow some commands. */
  readonly commands: readonly CommandLimit[];
  /** The patterns that were written with a `!`. */
  readonly excluded: readonly ToolPattern[];
}

/** Undefined when no particular call is checked: a tool then passes if it passes with some arguments. */
type Arguments = Readonly<Record<string, unknown>> | undefined;

export function compileToolLayers(layers: readonly (readonly string[])[]): ToolLayers {
  return layers.map((texts) => {
    const included = texts.filter((text) => !text.startsWith("!"));
    const excluded = texts.filter((text) => text.startsWith("!")).map((text) => text.slice(1));
    return {
      texts,
      patterns: included.map(parseToolPattern),
      commands: included.flatMap((text) => commandLimit(text) ?? []),
      // An exclusion of some commands excludes the whole tool.
      excluded: excluded.map((text) =>
        parseToolPattern(commandLimit(text) === null ? text : "execute_command"),
      ),
    };
  });
}

/** Returns the first layer that excludes the tool, or null when all let it pass. */
export function refusingLayer(
  layers: ToolLayers,
  tool: ToolRef,
  args: Arguments,
): ToolLayer | null {
  return layers.find((layer) => !passes(layer, tool, args)) ?? null;
}

/** True when the arguments of a call play no part in whether the layers let it pass. */
export function ignoreArguments(layers: ToolLayers, tool: ToolRef): boolean {
  return !runsCommands(tool) || layers.every(({ commands }) => commands.length === 0);
}

function passes(
  { patterns, commands, excluded }: ToolLayer,
  tool: ToolRef,
  args: Arguments,
): boolean {
  const isIncluded =
    patterns.some((pattern) => matchesTool(pattern, tool)) ||
    (commands.length > 0 && runsCommands(tool) && fitsOne(commands, args));
  return isIncluded && !excluded.some((pattern) => matchesTool(pattern, tool));
}

function fitsOne(commands: readonly CommandLimit[], args: Arguments): boolean {
  return args === undefined || commands.some((limit) => fitsCommandLimit(limit, args));
}
