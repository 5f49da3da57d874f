import type { ToolPattern } from "@switchyard/contracts/tool-patterns";
import { expandToolPattern } from "./tool-groups.ts";
import type { What } from "./selector-schema.ts";

/**
 * The tools that a rule selects by name, groups written out; null is every tool, an empty list
 * none. Beside `servers`, the entries of `tools` are names of those servers' own.
 */
export function toolPatternsOf(what: What | undefined): readonly ToolPattern[] | null {
  if (what === undefined) return null;
  const { servers, tools, labels } = what;
  if (servers !== undefined) {
    return servers.flatMap((server) =>
      (tools ?? ["*"]).map((tool): ToolPattern => ({ kind: "server", server, tool })),
    );
  }
  if (tools !== undefined) return tools.flatMap(expandToolPattern);
  // Labels alone select every tool that has them; a rule about features alone selects no tool.
  return labels !== undefined && !selectsFeatures(what) ? null : [];
}

/** True for a rule that is about some tools and about no other feature. */
export function selectsToolsOnly(what: What | undefined): boolean {
  return what !== undefined && toolPatternsOf(what)?.length !== 0 && !selectsFeatures(what);
}

/** True for a rule that is about results: those of tools, resources and prompts. */
export function selectsResults(what: What): boolean {
  const { resources, prompts, sampling, elicitation, logging } = what;
  if ([sampling, elicitation, logging].some((list) => list !== undefined)) return false;
  return resources !== undefined || prompts !== undefined || toolPatternsOf(what)?.length !== 0;
}

function selectsFeatures(what: What): boolean {
  const { resources, prompts, sampling, elicitation, logging } = what;
  return [resources, prompts, sampling, elicitation, logging].some((list) => list !== undefined);
}
