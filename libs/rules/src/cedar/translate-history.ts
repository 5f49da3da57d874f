import type { Condition } from "../schema/condition-schema.ts";
import { WINDOW_LIMITS, MAX_WINDOW_CALLS } from "../schema/window-schema.ts";
import { durationText } from "../schema/budget-schema.ts";
import { exactAmount } from "../values/amount.ts";
import type { Comparison, History } from "./cedar-ast.ts";
import type { Context, Translated } from "./rule-part.ts";
import { isSameTool, selectorOf, toolOfAction, type ToolOfAction } from "./tool-of-action.ts";

const MINUTE_MS = 60_000;
const LONGEST_MS = 30 * 86_400_000;
const OPPOSITE = { "<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==" } as const;
const LIMITS = { "<": "lt", "<=": "lte", ">": "gt", ">=": "gte" } as const;

/**
 * Translates a condition on earlier calls of the session.
 *
 * Switchyard counts calls that passed, also those in progress: these are the `request` events of Dogwood. A `response` is one of them, so
 * is one with a field of some value. Where more calls than meant make the rule stricter, it counts them all; elsewhere there is no rule.
 */
export function translateHistory(
  history: History,
  isNegated: boolean,
  context: Context,
): Translated {
  const { event, withinMs } = history;
  const op: Comparison = isNegated ? OPPOSITE[history.op] : history.op;
  const tool = toolOfAction(event.action);
  if (tool === null)
    return { reason: `the action ${JSON.stringify(event.action.id)} names no tool` };
  if (op === "==" || op === "!=")
    return { reason: "a number of calls is compared by <, <=, > or >= only" };
  if (event.kind !== "request" && event.kind !== "response")
    return { reason: `${event.kind} events are not recorded` };
  if (withinMs > LONGEST_MS) return { reason: "it looks back for more than 30 days" };
  const growsStricter = (op === ">" || op === ">=") !== context.isPermit;
  const surplus = surplusOf(history, tool, context);
  if (surplus.length > 0 && !growsStricter)
    return { reason: `calls are counted ${surplus.join(" and ")}, which would allow more` };
  const isOwn = context.ownTools === null || context.ownTools.some((own) => isSameTool(own, tool));
  const isEarlier = history.measure === "calls";
  if (isEarlier && isOwn && event.kind === "request")
    return { reason: "the event is the call itself, so the condition does not change" };
  const condition = isEarlier
    ? earlier(history, tool, op, context)
    : windowed({ ...history, op }, tool, context);
  if (condition === null) return { reason: "the limit is none that a window can have" };
  return {
    when: [condition],
    ...(surplus.length > 0 && { stricter: `calls are counted ${surplus.join(" and ")}` }),
  };
}

/** The ways in which more calls count than the policy means. */
function surplusOf(
  { event, withinMs, measure }: History,
  tool: ToolOfAction,
  context: Context,
): string[] {
  const isOwn = context.ownTools?.some((own) => isSameTool(own, tool)) ?? true;
  return [
    ...(event.kind === "response" ? ["also while they are in progress or when they failed"] : []),
    ...(event.kind === "response" && isOwn && measure !== "calls" ? ["with the call itself"] : []),
    ...(event.filters.length > 0 ? [`whatever their ${event.filters.join(", ")}`] : []),
    ...(withinMs < MINUTE_MS ? ["for a minute, the shortest time"] : []),
  ];
}

function earlier(
  { withinMs }: History,
  tool: ToolOfAction,
  op: "<" | "<=" | ">" | ">=",
  { isPermit }: Context,
): Condition {
  const within = Math.max(withinMs, MINUTE_MS);
  const required = isPermit ? {} : { required: true };
  const condition = { tools: [selectorOf(tool)], in: "session" as const, within, ...required };
  return op === ">=" || op === ">" ? { after: condition } : { neverAfter: condition };
}

function windowed(
  { measure, argument, withinMs, op, limit }: History & { readonly op: "<" | "<=" | ">" | ">=" },
  tool: ToolOfAction,
  { isPermit }: Context,
): Condition | null {
  const isPossible =
    measure === "sum" ? exactAmount(limit) !== null : limit >= 0 && limit < MAX_WINDOW_CALLS;
  if (!isPossible || (measure !== "count" && argument === null)) return null;
  const key = LIMITS[op];
  if (!WINDOW_LIMITS.includes(key)) return null;
  return {
    window: {
      ...(measure === "count" ? { count: true } : { [measure]: argument ?? "" }),
      of: [selectorOf(tool)],
      per: "session",
      within: Math.max(withinMs, MINUTE_MS),
      [key]: limit,
      ...(isPermit ? {} : { required: true }),
    },
  };
}

function written(part: object & { readonly within?: number | undefined }): object {
  return { ...part, ...(part.within !== undefined && { within: durationText(part.within) }) };
}

/** Writes times as rules do: the parsed form has milliseconds. */
export function writtenCondition(condition: Condition): unknown {
  if ("window" in condition) return { window: written(condition.window) };
  if ("after" in condition) return { after: written(condition.after) };
  if ("neverAfter" in condition) return { neverAfter: written(condition.neverAfter) };
  return condition;
}
