import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { ListedTool, OfferedTool, ToolCatalogue } from "./tool-catalogue.ts";

/** Digests of the tool descriptions that models received, by tool name. */
export type ToolPrints = Readonly<Record<string, string>>;

/** Returns the digests of offered provider tools that are new or changed for the model. */
export function newPrints(
  known: ToolPrints,
  offered: readonly OfferedTool[],
  { definitions }: ToolCatalogue,
): ToolPrints {
  const prints = offered.flatMap(({ name }): [string, string][] => {
    const tool = definitions?.get(name);
    if (tool === undefined) return [];
    const print = printOf(tool);
    return known[name] === print ? [] : [[name, print]];
  });
  return Object.fromEntries(prints);
}

/** Returns the digests of the tools that the result of a search describes. */
export function printsOf(tools: readonly ListedTool[]): ToolPrints {
  return Object.fromEntries(tools.map((tool) => [tool.name, printOf(tool)]));
}

/** True when a tool differs from the description that the model last received. */
export function hasChanged(
  name: string,
  { definitions }: ToolCatalogue,
  known: ToolPrints,
): boolean {
  const tool = definitions?.get(name);
  const print = known[name];
  return tool !== undefined && print !== undefined && print !== printOf(tool);
}

const LENGTH = 32;
const MAX_KEPT = 1_000;
/** Listed again and again, and nearly always the same. */
const kept = new Map<string, { readonly text: string; readonly print: string }>();

/** A server's tool has its pin, which is of its whole definition. */
function printOf({ name, pin, description, inputSchema }: ListedTool): string {
  if (pin !== undefined) return shortened(pin);
  const text = JSON.stringify([description, inputSchema]);
  const known = kept.get(name);
  if (known?.text === text) return known.print;
  const print = shortened(canonicalDigest({ description, inputSchema }));
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(name, { text, print });
  return print;
}

function shortened(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, LENGTH);
}
