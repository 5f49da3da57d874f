import { isTemporal, type Condition } from "../schema/condition-schema.ts";
import type { RulePart } from "./rule-part.ts";
import { isSameTool, selectorOf, type ToolOfAction } from "./tool-of-action.ts";

/** The selectors and conditions of a rule, gathered from the literals of one alternative. */
export interface Draft {
  readonly who: Readonly<Record<string, readonly string[]>>;
  readonly server: string | null;
  readonly tool: string | null;
  readonly tools: readonly ToolOfAction[] | null;
  readonly labels: { readonly any?: readonly string[]; readonly not?: readonly string[] };
  readonly when: readonly Condition[];
}

export const EMPTY_DRAFT: Draft = {
  who: {},
  server: null,
  tool: null,
  tools: null,
  labels: {},
  when: [],
};

const WHO = ["users", "agents", "channels", "groups"] as const;

/** Adds a part; returns a reason when a rule cannot have both what it has and the part. */
export function withPart(draft: Draft, part: RulePart): Draft | string {
  const who: Record<string, readonly string[]> = { ...draft.who };
  for (const key of WHO) {
    const name = part[key];
    if (name === undefined) continue;
    const merged = narrower(who[key]?.[0], name);
    if (merged === null || merged === undefined)
      return `a rule takes one of the ${key}, not two at once`;
    who[key] = [merged];
  }
  if (part.roles !== undefined) {
    if (who["roles"] !== undefined) return "a rule takes one list of roles";
    who["roles"] = part.roles;
  }
  const server = narrower(draft.server, part.server);
  const tool = narrower(draft.tool, part.tool);
  if (server === null || tool === null) return "a rule takes one server and one name of a tool";
  const any = draft.labels.any ?? part.labels?.any;
  if (draft.labels.any !== undefined && part.labels?.any !== undefined)
    return "a rule takes one list of labels";
  const not = [...(draft.labels.not ?? []), ...(part.labels?.not ?? [])];
  const own = draft.tools;
  const tools =
    own === null || part.tools === undefined
      ? (part.tools ?? own)
      : own.filter((one) => part.tools?.some((other) => isSameTool(one, other)));
  if (tools !== null && (server !== undefined || tool !== undefined))
    return "a rule takes the tools by the action or by the context, not both";
  return {
    who,
    server: server ?? null,
    tool: tool ?? null,
    tools,
    labels: { ...(any && { any }), ...(not.length > 0 && { not }) },
    when: [...draft.when, ...(part.when ?? [])],
  };
}

/** The narrower of two patterns; undefined when there is none, null when it is neither. */
function narrower(
  one: string | null | undefined,
  other: string | undefined,
): string | undefined | null {
  if (other === undefined || one === other) return one ?? undefined;
  if (one === undefined || one === null || one === "*") return other;
  return other === "*" ? one : null;
}

/** The `who` of a rule; undefined for everyone. */
export function whoOf({ who }: Draft): Draft["who"] | undefined {
  return Object.keys(who).length === 0 ? undefined : who;
}

/** The `what` of a rule, undefined for everything; a reason when no selector means the same. */
export function whatOf(draft: Draft): object | undefined | string {
  const { server, tool, tools, labels } = draft;
  const withLabels = (what: object) =>
    Object.keys(labels).length === 0 ? what : { ...what, labels };
  if (tools !== null) return withLabels({ tools: tools.map(selectorOf) });
  if (server === "") return withLabels({ tools: [tool === null ? "group:switchyard" : tool] });
  if (server !== null)
    return withLabels({ servers: [server], ...(tool !== null && { tools: [tool] }) });
  if (tool !== null) return "a rule takes the name of a tool only beside its server";
  if (Object.keys(labels).length > 0) return { labels };
  return draft.when.some(isTemporal) ? { tools: ["*"] } : undefined;
}
