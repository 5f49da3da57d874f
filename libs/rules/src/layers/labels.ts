import type { ToolRef } from "@switchyard/contracts/tool-names";
import { matchesTool, type ToolPattern } from "@switchyard/contracts/tool-patterns";
import type { Bundle } from "../schema/bundle.ts";
import { expandToolPattern } from "../schema/tool-groups.ts";

/** Labels that the bundle gives to tools. */
export interface LabelRule {
  readonly patterns: readonly ToolPattern[];
  readonly labels: readonly string[];
}

const NONE: ReadonlySet<string> = new Set();

export function compileLabels({ labels = [] }: Pick<Bundle, "labels">): readonly LabelRule[] {
  return labels.map(({ tools, are }) => ({
    patterns: tools.flatMap(expandToolPattern),
    labels: are,
  }));
}

/** Returns all labels of a tool: those of its server, set by its administrator, and those of the bundle. */
export function labelsOf(
  rules: readonly LabelRule[],
  tool: ToolRef,
  serverLabels: readonly string[] | undefined,
): ReadonlySet<string> {
  if (rules.length === 0 && (serverLabels === undefined || serverLabels.length === 0)) return NONE;
  const own = rules.filter(({ patterns }) =>
    patterns.some((pattern) => matchesTool(pattern, tool)),
  );
  return new Set([...(serverLabels ?? []), ...own.flatMap(({ labels }) => labels)]);
}
