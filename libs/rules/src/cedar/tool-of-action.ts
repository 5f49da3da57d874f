import type { Expression } from "./cedar-ast.ts";

/** A tool as a selector names it; without a server it is a tool of Switchyard's own. */
export interface ToolOfAction {
  readonly server: string | null;
  readonly tool: string;
}

/** The names of tools that mean a whole family in rules. */
const FAMILIES: ReadonlySet<string> = new Set(["message", "cron", "gateway"]);

/** Reads `Target___tool` of AgentCore, `server.tool`, `mcp__server__tool`, and the name of a built-in tool. */
export function toolOfAction({ type, id }: Expression & { kind: "entity" }): ToolOfAction | null {
  if (type.split("::").at(-1) !== "Action") return null;
  const [, target, ofTarget] = /^([A-Za-z0-9-]+)___([\w.-]+)$/.exec(id) ?? [];
  const [, server, tool] = /^(?:mcp__)?([a-z0-9-]+)(?:__|\.)([\w.-]+)$/.exec(id) ?? [];
  if (target !== undefined && ofTarget !== undefined)
    return target.length > 24 ? null : { server: target.toLowerCase(), tool: ofTarget };
  if (server !== undefined && tool !== undefined) return { server, tool };
  return /^[A-Za-z]\w{0,127}$/.test(id) && !FAMILIES.has(id) ? { server: null, tool: id } : null;
}

/** The tool as the selector `tools` of rules names it. */
export function selectorOf({ server, tool }: ToolOfAction): string {
  return server === null ? tool : `${server}.${tool}`;
}

export function isSameTool(one: ToolOfAction, other: ToolOfAction): boolean {
  return one.server === other.server && one.tool === other.tool;
}
