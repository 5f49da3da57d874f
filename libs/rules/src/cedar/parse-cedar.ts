import type { CedarPolicy, Comparison, Expression } from "./cedar-ast.ts";
import { CedarSyntaxError, cedarTokens, likeParts } from "./cedar-tokens.ts";
import { parseTemporal } from "./parse-temporal.ts";
import { COMPARISONS, parsePath, TokenReader } from "./token-reader.ts";

/** Reads the policies of a file of Cedar or Dogwood. Throws a {@link CedarSyntaxError} at the first mistake. */
export function parseCedar(text: string): CedarPolicy[] {
  const reader = new TokenReader(cedarTokens(text));
  const policies: CedarPolicy[] = [];
  while (reader.next.kind !== "end") policies.push(parsePolicy(reader));
  return policies;
}

function parsePolicy(reader: TokenReader): CedarPolicy {
  const annotations = new Map<string, string>();
  const { line } = reader.next;
  while (reader.accept("@")) {
    const name = reader.name();
    const hasValue = reader.accept("(");
    annotations.set(name, hasValue ? reader.string() : "");
    if (hasValue) reader.expect(")");
  }
  if (reader.is("def"))
    throw new CedarSyntaxError(
      line,
      "macros (def) are not read; write the condition out in the policies",
    );
  const effect = reader.is("permit") ? "permit" : "forbid";
  reader.expect(effect);
  reader.expect("(");
  const scope = ["principal", "action", "resource"].flatMap((name, index) => {
    if (index > 0) reader.expect(",");
    return parseScope(reader, name);
  });
  reader.accept(",");
  reader.expect(")");
  const clauses: Expression[] = [];
  while (!reader.accept(";")) clauses.push(parseClause(reader));
  return { line, effect, annotations, conditions: [...scope, ...clauses] };
}

function parseScope(reader: TokenReader, name: string): Expression[] {
  reader.expect(name);
  const of: Expression = { kind: "variable", name };
  if (reader.accept("=="))
    return [{ kind: "compare", op: "==", left: of, right: parseMember(reader) }];
  if (reader.is("in") || reader.is("is")) return [parseMembership(reader, of)];
  return [];
}

function parseClause(reader: TokenReader): Expression {
  const isWhen = reader.is("when");
  reader.expect(isWhen ? "when" : "unless");
  const isGuarded = reader.accept("guardrails");
  const of: Expression = reader.is("temporal") ? parsePrimary(reader) : parseBlock(reader);
  const read: Expression = isGuarded ? { kind: "other", what: "a guardrail" } : of;
  return isWhen ? read : { kind: "not", of: read };
}

function parseBlock(reader: TokenReader): Expression {
  reader.expect("{");
  const of = parseExpression(reader);
  reader.expect("}");
  return of;
}

function parseExpression(reader: TokenReader): Expression {
  if (!reader.accept("if")) return parseChain(reader, "or");
  const condition = parseExpression(reader);
  reader.expect("then");
  const yes = parseExpression(reader);
  reader.expect("else");
  const no = parseExpression(reader);
  return {
    kind: "or",
    left: { kind: "and", left: condition, right: yes },
    right: { kind: "and", left: { kind: "not", of: condition }, right: no },
  };
}

function parseChain(reader: TokenReader, kind: "or" | "and"): Expression {
  const part = () => (kind === "or" ? parseChain(reader, "and") : parseRelation(reader));
  let left = part();
  while (reader.accept(kind === "or" ? "||" : "&&")) left = { kind, left, right: part() };
  return left;
}

function parseRelation(reader: TokenReader): Expression {
  const of = parseSum(reader);
  if (reader.next.kind === "sign" && COMPARISONS.includes(reader.next.text)) {
    const op = reader.read().text as Comparison; // checked above
    return { kind: "compare", op, left: of, right: parseSum(reader) };
  }
  if (reader.accept("has")) {
    if (reader.next.kind === "string") return { kind: "has", of, path: [reader.string()] };
    const path = [reader.name()];
    while (reader.accept(".")) path.push(reader.name());
    return { kind: "has", of, path };
  }
  if (reader.accept("like")) {
    const { kind, text, line } = reader.next;
    if (kind !== "string") throw reader.unexpected("a text in quotes");
    reader.read();
    const parts = likeParts(text);
    if (parts === null)
      throw new CedarSyntaxError(line, "the pattern has an escape that is not of Cedar");
    return { kind: "like", of, parts };
  }
  return reader.is("in") || reader.is("is") ? parseMembership(reader, of) : of;
}

function parseMembership(reader: TokenReader, of: Expression): Expression {
  if (reader.accept("in")) return { kind: "in", of, set: parseSum(reader) };
  reader.expect("is");
  const is: Expression = { kind: "is", of, type: parsePath(reader) };
  if (!reader.accept("in")) return is;
  return { kind: "and", left: is, right: { kind: "in", of, set: parseSum(reader) } };
}

/** Reads arithmetic, of which rules have none. */
function parseSum(reader: TokenReader): Expression {
  let of = parseUnary(reader);
  while (reader.is("+") || reader.is("-") || reader.is("*")) {
    reader.read();
    parseUnary(reader);
    of = { kind: "other", what: "arithmetic" };
  }
  return of;
}

function parseUnary(reader: TokenReader): Expression {
  if (reader.accept("!")) return { kind: "not", of: parseUnary(reader) };
  if (!reader.accept("-")) return parseMember(reader);
  const of = parseUnary(reader);
  return of.kind === "literal" && typeof of.value === "number"
    ? { kind: "literal", value: -of.value }
    : { kind: "other", what: "arithmetic" };
}

function parseMember(reader: TokenReader): Expression {
  let of = parsePrimary(reader);
  for (;;) {
    if (reader.accept(".")) {
      const name = reader.name();
      of = reader.is("(")
        ? { kind: "call", of, name, args: parseList(reader, "(", ")") }
        : { kind: "attribute", of, name };
    } else if (reader.accept("[")) {
      of = { kind: "attribute", of, name: reader.string() };
      reader.expect("]");
    } else return of;
  }
}

function parsePrimary(reader: TokenReader): Expression {
  const { kind, text } = reader.next;
  if (kind === "string") return { kind: "literal", value: reader.string() };
  if (kind === "number") return { kind: "literal", value: Number(reader.read().text) };
  if (reader.accept("true")) return { kind: "literal", value: true };
  if (reader.accept("false")) return { kind: "literal", value: false };
  if (text === "(") {
    reader.read();
    const of = parseExpression(reader);
    reader.expect(")");
    return of;
  }
  if (text === "[") return { kind: "set", items: parseList(reader, "[", "]") };
  if (text === "{") return parseRecord(reader);
  if (text === "temporal" && reader.peek(1).text === "{") {
    reader.read();
    reader.expect("{");
    const of = parseTemporal(reader);
    reader.expect("}");
    return of;
  }
  const path = parsePath(reader);
  if (reader.is("::")) {
    reader.read();
    return { kind: "entity", type: path, id: reader.string() };
  }
  if (reader.is("("))
    return { kind: "call", of: null, name: path, args: parseList(reader, "(", ")") };
  return { kind: "variable", name: path };
}

function parseRecord(reader: TokenReader): Expression {
  reader.expect("{");
  while (!reader.accept("}")) {
    if (reader.next.kind === "string") reader.string();
    else reader.name();
    reader.expect(":");
    parseExpression(reader);
    if (!reader.is("}")) reader.expect(",");
  }
  return { kind: "other", what: "a record" };
}

function parseList(reader: TokenReader, open: string, close: string): Expression[] {
  const items: Expression[] = [];
  reader.expect(open);
  while (!reader.accept(close)) {
    items.push(parseExpression(reader));
    if (!reader.is(close)) reader.expect(",");
  }
  return items;
}
