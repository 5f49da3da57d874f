import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { locate, parsePointer } from "@switchyard/contracts/json-pointer";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { type ToolPattern } from "@switchyard/contracts/tool-patterns";
import { durationText } from "../schema/budget-schema.ts";
import { toolPatternsOf } from "../schema/tool-selectors.ts";
import {
  WINDOW_LIMITS,
  type Earlier,
  type Window,
  type WindowLimit,
} from "../schema/window-schema.ts";
import { amountText, exactAmount } from "../values/amount.ts";

export type WindowKind = "count" | "sum" | "distinct";

/** A condition of one rule on earlier calls. */
export interface CompiledWindow {
  /** The rule and a digest of what is counted, so that another limit keeps the count. */
  readonly name: string;
  readonly rule: string;
  readonly effect: "allow" | "deny";
  readonly kind: WindowKind;
  readonly per: Window["per"];
  readonly withinMs: number;
  /** The tools whose calls count; null: the calls that the rule selects. */
  readonly counted: readonly ToolPattern[] | null;
  /** The calls that count: those that were made, or those with an outcome. */
  readonly outcome: "made" | NonNullable<Earlier["outcome"]>;
  /** False for a window about earlier calls only. */
  readonly countsThis: boolean;
  readonly limit: { readonly op: WindowLimit; readonly value: number };
  readonly required: boolean;
  /** The two sides of the comparison as shown to people. */
  readonly subject: string;
  readonly wanted: string;
  /** The part of a call in the window: one, an exact amount, or the digest of a value. */
  readonly shareOf: (args: Readonly<Record<string, unknown>>) => Share;
}

/** `missing` and `incomparable` have the meaning that they have for conditions on arguments. */
export type Share = { readonly counts: string } | "missing" | "incomparable";

const LONGEST_MS = 30 * 86_400_000;
const MAX_TEXT_LENGTH = 16_384;

interface OfRule {
  readonly id: string;
  readonly effect: "allow" | "deny";
}

/** Prepares a window of a valid rule. */
export function compileWindow(window: Window, rule: OfRule): CompiledWindow {
  const { count, sum, distinct, of, per, within, required = false } = window;
  const kind: WindowKind = count === true ? "count" : sum === undefined ? "distinct" : "sum";
  const pointer = sum ?? distinct ?? null;
  const op = WINDOW_LIMITS.find((one) => window[one] !== undefined) ?? "lt";
  const limit = window[op] ?? 0;
  const what =
    kind === "count"
      ? "number of calls"
      : kind === "sum"
        ? `sum of ${pointer}`
        : `number of different ${pointer}`;
  const ofTools = of === undefined ? "" : ` of ${of.join(", ")}`;
  return {
    ...identified(rule, { kind, pointer, of: of ?? null, per, within }),
    kind,
    per,
    withinMs: within,
    counted: of === undefined ? null : (toolPatternsOf({ tools: of }) ?? []),
    outcome: "made",
    countsThis: true,
    limit: { op, value: kind === "sum" ? (exactAmount(limit) ?? 0) : limit },
    required,
    subject: `${what}${ofTools} per ${per} in ${durationText(within)}`,
    wanted: `${op} ${limit}`,
    shareOf: shares(kind, pointer),
  };
}

/** Prepares `after` (`isAfter`) or `neverAfter`: a count of earlier calls that is one at least, or none. */
export function compileEarlier(
  { tools, in: per, within = LONGEST_MS, outcome, required = false }: Earlier,
  rule: OfRule,
  isAfter: boolean,
): CompiledWindow {
  return {
    ...identified(rule, {
      kind: "earlier",
      of: tools,
      per,
      within,
      ...(outcome && { outcome }),
    }),
    kind: "count",
    per,
    withinMs: within,
    counted: toolPatternsOf({ tools }) ?? [],
    outcome: outcome ?? "made",
    countsThis: false,
    limit: { op: isAfter ? "gte" : "lt", value: 1 },
    required,
    subject: `number of earlier ${outcome === undefined ? "" : `${outcome} `}calls of ${tools.join(", ")} in the ${per}${within === LONGEST_MS ? "" : ` in ${durationText(within)}`}`,
    wanted: isAfter ? "gte 1" : "lt 1",
    shareOf: shares("count", null),
  };
}

/** Returns the owner whose calls the window counts; null when the principal has no owner of that kind. */
export function windowOwner(
  { per }: Pick<CompiledWindow, "per">,
  principal: Principal,
): string | null {
  const { context, runId } = principal;
  switch (per) {
    case "user":
      return principal.user;
    case "agent":
      return principal.agent;
    case "run":
      return runId;
    case "session":
      return context?.session ?? null;
    case "family":
      return context?.root ?? runId;
    case "all":
      return "all";
    default:
      return per satisfies never;
  }
}

/** Compares a value of the window, amounts in exact parts. */
export function isWithinLimit({ limit }: Pick<CompiledWindow, "limit">, value: number): boolean {
  switch (limit.op) {
    case "lt":
      return value < limit.value;
    case "lte":
      return value <= limit.value;
    case "gt":
      return value > limit.value;
    case "gte":
      return value >= limit.value;
    default:
      return limit.op satisfies never;
  }
}

/** A value of the window as shown to people. */
export function windowValueText({ kind }: Pick<CompiledWindow, "kind">, value: number): string {
  return kind === "sum" ? amountText(value) : String(value);
}

function identified({ id, effect }: OfRule, content: object) {
  return { name: `${id}.${canonicalDigest(content).replace("sha256:", "")}`, rule: id, effect };
}

function shares(kind: WindowKind, pointer: string | null): CompiledWindow["shareOf"] {
  if (pointer === null) return () => ({ counts: "1" });
  const tokens = parsePointer(pointer) ?? [];
  return (args) => {
    const located = locate(args, tokens);
    if (located.kind !== "found") return located.kind === "missing" ? "missing" : "incomparable";
    const counts = kind === "sum" ? amountShare(located.value) : valueShare(located.value);
    return counts === null ? "incomparable" : { counts };
  };
}

function amountShare(value: unknown): string | null {
  const amount = exactAmount(value);
  return amount === null ? null : String(amount);
}

/** A digest, because values may be long or secret, and Redis stores them for as long as the window. */
function valueShare(value: unknown): string | null {
  if (typeof value === "string")
    return value.length > MAX_TEXT_LENGTH ? null : canonicalDigest([value.normalize("NFC")]);
  const isScalar = value === null || typeof value === "number" || typeof value === "boolean";
  return isScalar ? canonicalDigest([value]) : null;
}
