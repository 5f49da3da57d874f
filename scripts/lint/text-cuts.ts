/** The part of ESTree that the rules read. */
export interface Expression {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly regex?: { readonly pattern: string };
  readonly operator?: string;
  readonly callee?: Expression;
  readonly object?: Expression;
  readonly property?: Expression;
  readonly argument?: Expression;
  readonly left?: Expression;
  readonly right?: Expression;
  readonly consequent?: Expression;
  readonly alternate?: Expression;
  readonly arguments?: readonly Expression[];
  readonly quasis?: readonly Quasi[];
}

interface Quasi {
  readonly value: { readonly cooked?: string | null };
}

const CUT =
  "Texts are cut with @switchyard/contracts/cut-text: a cut at a number may leave half of a character. " +
  "What is no text of people, models or tools keeps its slice, with the reason beside it.";

/**
 * Returns what is wrong with a call; null when it cuts no text. A plugin of the linter knows no types, so names decide: a cut at a limit (`slice(0, MAX)`,
 * `slice(-60)`, `substring`) of what is neither a list nor a digest by its name. A cut at a position that was found, such as that of a
 * separator, is none. Left out in the configuration: libs/local-servers, whose texts are of programs and which depends on nothing of ours, and the
 * scanner's rules, which look at parts of files; what they show goes through `evidence.ts`.
 */
export function textCutProblem(call: Expression): string | null {
  const { callee, arguments: args = [] } = call;
  if (callee?.type !== "MemberExpression" || callee.object === undefined) return null;
  const method = callee.property?.name;
  if (method === "substr" || method === "substring") return CUT;
  if (method !== "slice" || isList(callee.object) || isAscii(callee.object)) return null;
  const [first, second] = args;
  if (first?.type === "UnaryExpression" && first.operator === "-" && second === undefined)
    return isLimit(first.argument) ? CUT : null;
  return first?.value === 0 && isLimit(second) ? CUT : null;
}

const LIMIT_NAME =
  /^(?:[A-Z][A-Z0-9_]*|(?:max|most|limit|longest|room|half|width|chars)[A-Z]?\w*|\w+(?:Limit|Max|Length|Chars|Width))$/;

/** True for a number that was chosen, and not found in the text. A single unit is the first character of a word of ASCII. */
function isLimit(value: Expression | undefined): boolean {
  switch (value?.type) {
    case "Literal":
      return typeof value.value === "number" && value.value > 1;
    case "Identifier":
      return LIMIT_NAME.test(value.name ?? "");
    case "MemberExpression":
      return LIMIT_NAME.test(nameOf(value.object)) || LIMIT_NAME.test(value.property?.name ?? "");
    case "BinaryExpression":
      return isLimit(value.left) && (isLimit(value.right) || value.right?.type === "Literal");
    case "CallExpression":
      return nameOf(value.callee?.object) === "Math" && (value.arguments ?? []).some(isLimit);
    default:
      return false;
  }
}

/** Methods and functions that return lists. */
const LISTING =
  /^(?:filter|map|flatMap|flat|sort|toSorted|toReversed|reverse|concat|split|from|[a-z]\w*(?:s|sOf|sAt|sIn|sFrom|sBetween)|withoutEmpty|worstFirst|locatedAt)$/;
/** Plurals and participles (`problems`, `listed`, `fitting`), and what lists are called beside them. */
const LIST_NAME =
  /(?:[^su]s|sses|[a-z]ed|[a-z]edBy|[a-z]tting|list|group|path|shown|seen|found|behind|older|reach|install|bytes|buffer|chunk)$/i;

function isList(value: Expression | undefined): boolean {
  switch (value?.type) {
    case "ArrayExpression":
      return true;
    case "CallExpression":
      return LISTING.test(nameOf(value.callee));
    case "LogicalExpression":
      return isList(value.right);
    case "ConditionalExpression":
      return isList(value.consequent) || isList(value.alternate);
    default:
      return LIST_NAME.test(nameOf(value));
  }
}

const ASCII_CALL = /^(?:digest|canonicalDigest|digestOf|randomUUID|randomHex|toISOString)$/;
const ASCII_NAME = /(?:[Dd]igest|[Hh]ash|[Uu]uid|[Vv]ersion|[a-z]Id|sha|hex|traceparent)$/;
/** Methods of a text that leave ASCII as ASCII. */
const SAME = /^(?:replace|replaceAll|slice|trim|toLowerCase)$/;
/** Matches the characters that were removed from a text of ASCII. */
const OTHERS = /^\[\^(?:[a-zA-Z]-[a-zA-Z]|0-9|\\w|[_.-])+\]/;

/** Digests, times and ids that the programs make, and names that were cleared of everything else. */
function isAscii(value: Expression | undefined): boolean {
  if (value?.type !== "CallExpression") return ASCII_NAME.test(nameOf(value));
  const name = nameOf(value.callee);
  if (ASCII_CALL.test(name) || ASCII_NAME.test(name)) return true;
  const [first] = value.arguments ?? [];
  return (
    SAME.test(name) && (OTHERS.test(first?.regex?.pattern ?? "") || isAscii(value.callee?.object))
  );
}

/** The last name of `a`, `a.b` or `a().b`. */
function nameOf(value: Expression | undefined): string {
  if (value?.type === "Identifier") return value.name ?? "";
  if (value?.type === "MemberExpression") return value.property?.name ?? "";
  return "";
}
