import type { CedarEvent, Comparison, Expression, History } from "./cedar-ast.ts";
import { CedarSyntaxError } from "./cedar-tokens.ts";
import { COMPARISONS, parsePath, type TokenReader } from "./token-reader.ts";

/**
 * Reads the condition of a `temporal` block of Dogwood. Everything is read, and what is not one of the forms that a rule can express
 * becomes `other`, with its name.
 */
export function parseTemporal(reader: TokenReader): Expression {
  return plain(parseCondition(reader));
}

/** A part of a condition, before it is known which form it belongs to. */
type Part =
  | { readonly kind: "condition"; readonly of: Expression }
  | { readonly kind: "event"; readonly event: EventPattern }
  | { readonly kind: "formerly"; readonly withinMs: number; readonly of: Part }
  | { readonly kind: "and"; readonly parts: readonly Part[] }
  | { readonly kind: "not"; readonly of: Part }
  | { readonly kind: "timepoint"; readonly name: string }
  | { readonly kind: "term"; readonly value: Term }
  | { readonly kind: "compare"; readonly op: Comparison; readonly left: Term; readonly right: Term }
  | { readonly kind: "exists"; readonly binder: string; readonly of: Part };

type Term =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "measure"; readonly measure: Measure }
  | { readonly kind: "other"; readonly what: string };

type Measure = Pick<History, "measure" | "argument" | "withinMs" | "event">;

interface EventPattern {
  readonly action: CedarEvent["action"];
  readonly kind: string;
  readonly fields: readonly { readonly path: string; readonly value: string }[];
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const other = (what: string): Expression => ({ kind: "other", what });

function parseCondition(reader: TokenReader): Part {
  const parts = [parseSince(reader)];
  while (reader.accept("&&")) parts.push(parseSince(reader));
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: "and", parts };
}

function parseSince(reader: TokenReader): Part {
  let isNegated = false;
  while (reader.accept("!")) isNegated = !isNegated;
  const unit = parseUnit(reader);
  const of: Part = isNegated ? { kind: "not", of: unit } : unit;
  if (!reader.accept("since")) return of;
  parseWithin(reader);
  parseUnit(reader);
  return { kind: "condition", of: other("since") };
}

function parseUnit(reader: TokenReader): Part {
  const first = parseOperand(reader);
  if (reader.next.kind !== "sign" || !COMPARISONS.includes(reader.next.text)) return first;
  const op = reader.read().text as Comparison; // checked above
  return { kind: "compare", op, left: termOf(first), right: termOf(parseOperand(reader)) };
}

function termOf(part: Part): Term {
  return part.kind === "term" ? part.value : { kind: "other", what: "a comparison of conditions" };
}

function parseOperand(reader: TokenReader): Part {
  if (reader.accept("(")) {
    const of = parseCondition(reader);
    reader.expect(")");
    return of;
  }
  if (reader.is("formerly") || reader.is("previous")) {
    const isFormerly = reader.read().text === "formerly";
    const withinMs = parseWithin(reader);
    const of = parseUnit(reader);
    return isFormerly
      ? { kind: "formerly", withinMs, of }
      : { kind: "condition", of: other("previous") };
  }
  if (reader.accept("exists")) {
    const binder = parseBinder(reader);
    reader.expect(".");
    return { kind: "exists", binder, of: parseCondition(reader) };
  }
  if (reader.is("count") || reader.is("sum")) return parseAggregate(reader);
  const { kind } = reader.next;
  if (kind === "name" && reader.peek(1).text === "(") return parseCall(reader);
  return kind === "name" && reader.peek(1).text === "::" ? parseEvent(reader) : parseTerm(reader);
}

function partOf(value: Term): Part {
  return { kind: "term", value };
}

function parseTerm(reader: TokenReader): Part {
  const { kind, text } = reader.next;
  if (kind === "number" || text === "-") {
    const sign = reader.accept("-") ? -1 : 1;
    if (reader.next.kind !== "number") throw reader.unexpected("a number");
    return partOf({ kind: "number", value: sign * Number(reader.read().text) });
  }
  if (kind === "string") {
    reader.string();
    return partOf({ kind: "other", what: "a comparison with a text" });
  }
  if (reader.accept("*")) return partOf({ kind: "name", name: "_" });
  let name = reader.name();
  while (reader.accept(".")) name = `${name}.${reader.name()}`;
  return partOf({ kind: "name", name });
}

function parseWithin(reader: TokenReader): number {
  reader.expect("within");
  return parseInterval(reader);
}

function parseInterval(reader: TokenReader): number {
  const { kind, line } = reader.next;
  if (kind !== "number") throw reader.unexpected("a time such as 1h");
  const amount = Number(reader.read().text);
  const unit = UNITS[reader.name()];
  if (unit === undefined) throw new CedarSyntaxError(line, "the unit of a time is s, m, h or d");
  return amount * unit;
}

function parseBinder(reader: TokenReader): string {
  reader.expect("(");
  const name = reader.name();
  reader.expect(":");
  parsePath(reader);
  reader.expect(")");
  return name;
}

/** Reads `count for (t: Timepoint). where …` and `sum a for (a: Long), (t: Timepoint). where …`. */
function parseAggregate(reader: TokenReader): Part {
  const isSum = reader.read().text === "sum";
  const summed = isSum ? reader.name() : null;
  reader.expect("for");
  const binders = [parseBinder(reader)];
  while (reader.accept(",")) binders.push(parseBinder(reader));
  reader.expect(".");
  reader.expect("where");
  const body = parseCondition(reader);
  const read = eventOf(body);
  const others = binders.filter((binder) => binder !== read?.timepoint && binder !== summed);
  if (read === null || (isSum && !binders.includes(summed ?? ""))) return unreadAggregate();
  // Without the timepoint equal values count once, which for a sum is no sum of calls.
  const hasTimepoint = read.timepoint !== null && binders.includes(read.timepoint);
  const [distinct = null] = others;
  if (isSum ? !hasTimepoint || others.length > 0 : others.length > (hasTimepoint ? 0 : 1))
    return unreadAggregate();
  const measure = isSum ? "sum" : hasTimepoint ? "count" : "distinct";
  return measureTerm(measure, isSum ? summed : hasTimepoint ? null : distinct, read);
}

function unreadAggregate(): Part {
  return { kind: "term", value: { kind: "other", what: "this form of count or sum" } };
}

interface WithinEvent {
  readonly withinMs: number;
  readonly pattern: EventPattern;
  /** The name that `tp` binds; null without it. */
  readonly timepoint: string | null;
}

/** The event of `formerly within 1h (event && tp(t))`; null for any other condition. */
function eventOf(body: Part): WithinEvent | null {
  if (body.kind !== "formerly") return null;
  const parts = body.of.kind === "and" ? body.of.parts : [body.of];
  const events = parts.flatMap((part) => (part.kind === "event" ? [part.event] : []));
  const points = parts.flatMap((part) => (part.kind === "timepoint" ? [part.name] : []));
  const [pattern] = events;
  if (pattern === undefined || events.length > 1 || points.length > 1) return null;
  if (events.length + points.length !== parts.length) return null;
  return { withinMs: body.withinMs, pattern, timepoint: points[0] ?? null };
}

function measureTerm(
  measure: "count" | "sum" | "distinct",
  binder: string | null,
  { withinMs, pattern }: Pick<WithinEvent, "withinMs" | "pattern">,
): Part {
  const field = pattern.fields.find(({ value }) => binder !== null && value === binder);
  if ((binder !== null && field === undefined) || field?.path.startsWith("input.") === false)
    return unreadAggregate();
  const argument =
    field === undefined ? null : field.path.slice("input".length).replaceAll(".", "/");
  const event = eventWithFilters(pattern, binder);
  return {
    kind: "term",
    value: { kind: "measure", measure: { measure, argument, withinMs, event } },
  };
}

function eventWithFilters(
  { action, kind, fields }: EventPattern,
  binder: string | null,
): CedarEvent {
  const isFilter = ({ path, value }: EventPattern["fields"][number]) =>
    value !== binder &&
    value !== "_" &&
    !(["eventResource", "callerResource"].includes(path) && value === "resource");
  return { action, kind, filters: fields.filter(isFilter).map(({ path }) => path) };
}

/** Reads the macros of Dogwood's own library, and `tp`. */
function parseCall(reader: TokenReader): Part {
  const { text: name, line } = reader.read();
  reader.expect("(");
  if (name === "tp") {
    const timepoint = reader.name();
    reader.expect(")");
    return { kind: "timepoint", name: timepoint };
  }
  if (name === "decimal") {
    reader.string();
    reader.expect(")");
    return { kind: "term", value: { kind: "other", what: "a comparison with a decimal" } };
  }
  const isPlain = name === "count_within";
  if (isPlain || name === "sum_within" || name === "count_distinct_within") {
    const binder = isPlain ? null : reader.name();
    if (!isPlain) reader.expect(",");
    const withinMs = parseInterval(reader);
    reader.expect(",");
    const body = parseUnit(reader);
    reader.expect(")");
    if (body.kind !== "event") return unreadAggregate();
    const measure = isPlain ? "count" : name === "sum_within" ? "sum" : "distinct";
    return measureTerm(measure, binder, { withinMs, pattern: body.event });
  }
  if (name !== "bind")
    throw new CedarSyntaxError(
      line,
      `the macro ${name} is not read; write the condition out in the policies`,
    );
  const binder = reader.name();
  reader.expect(",");
  const measure = termOf(parseOperand(reader));
  reader.expect(",");
  const body = parseCondition(reader);
  reader.expect(")");
  const bound: Part = {
    kind: "compare",
    op: "==",
    left: measure,
    right: { kind: "name", name: binder },
  };
  return { kind: "exists", binder, of: { kind: "and", parts: [bound, body] } };
}

function parseEvent(reader: TokenReader): Part {
  const { line } = reader.next;
  const type = parsePath(reader);
  reader.expect("::");
  const action = { kind: "entity", type, id: reader.string() } as const;
  if (!reader.accept("::"))
    return { kind: "term", value: { kind: "other", what: "a comparison with an entity" } };
  const kind = reader.name();
  if (!reader.is("{")) throw new CedarSyntaxError(line, "an event needs its fields, such as { }");
  const fields: { path: string; value: string }[] = [];
  while (reader.accept("{"))
    while (!reader.accept("}")) {
      let path = reader.name();
      while (reader.accept(".")) path = `${path}.${reader.name()}`;
      reader.expect(":");
      fields.push({ path, value: parseValue(reader) });
      if (!reader.is("}")) reader.expect(",");
    }
  return { kind: "event", event: { action, kind, fields } };
}

/** Reads the value of a field; only names are of interest. */
function parseValue(reader: TokenReader): string {
  const value = parseOperand(reader);
  return value.kind === "term" && value.value.kind === "name" ? value.value.name : "=";
}

/** Turns a condition into an expression of conditions that rules have. */
function plain(part: Part): Expression {
  switch (part.kind) {
    case "condition":
      return part.of;
    case "not":
      return { kind: "not", of: plain(part.of) };
    case "and":
      return part.parts.map(plain).reduce((left, right) => ({ kind: "and", left, right }));
    case "formerly": {
      const read = eventOf(part);
      if (read === null || read.timepoint !== null) return other("this form of formerly");
      const event = eventWithFilters(read.pattern, null);
      const history = {
        measure: "calls",
        argument: null,
        withinMs: read.withinMs,
        event,
        op: ">=",
        limit: 1,
      } as const;
      return { kind: "history", history };
    }
    case "exists":
      return boundComparison(part.binder, part.of);
    case "compare":
      return comparison(part);
    case "event":
      return other("an event without formerly");
    case "timepoint":
    case "term":
      return other("a term without a comparison");
    default:
      return part satisfies never;
  }
}

/** Reads `exists (n: Long). (measure == n && n > 3)`. */
function boundComparison(binder: string, of: Part): Expression {
  const parts = of.kind === "and" ? of.parts : [];
  const [bound, compared] = parts;
  if (parts.length !== 2 || bound?.kind !== "compare" || compared?.kind !== "compare")
    return other("this form of exists");
  const isBinder = (term: Term) => term.kind === "name" && term.name === binder;
  const measure = [bound.left, bound.right].find(({ kind }) => kind === "measure");
  const isBound = bound.op === "==" && (isBinder(bound.left) || isBinder(bound.right));
  if (!isBound || measure === undefined) return other("this form of exists");
  const replaced = (term: Term) => (isBinder(term) ? measure : term);
  return comparison({
    ...compared,
    left: replaced(compared.left),
    right: replaced(compared.right),
  });
}

const FLIPPED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!=" } as const;

function comparison({ op, left, right }: Part & { readonly kind: "compare" }): Expression {
  const sides = [left, right];
  const unread = sides.find((side) => side.kind === "other");
  if (unread?.kind === "other") return other(unread.what);
  if (left.kind === "measure" && right.kind === "number")
    return { kind: "history", history: { ...left.measure, op, limit: right.value } };
  if (left.kind === "number" && right.kind === "measure")
    return { kind: "history", history: { ...right.measure, op: FLIPPED[op], limit: left.value } };
  return other("this comparison");
}
