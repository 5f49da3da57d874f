import type { Expression } from "./cedar-ast.ts";

/** A condition without connectives, or its opposite. */
export interface Literal {
  readonly atom: Expression;
  readonly isNegated: boolean;
}

/** More alternatives than this would be more rules than a person can review. */
const MAX_ALTERNATIVES = 32;

/**
 * Writes an expression as alternatives, each of which needs all of its literals; null when there are too many.
 *
 * In Cedar an error, such as a missing argument, makes the whole policy not apply. So the second side of a `||` counts for a
 * permit only where the first one is false: a rule for the second side alone would also allow calls for which the first one fails.
 */
export function alternativesOf(
  expression: Expression,
  isNegated: boolean,
  isPermit: boolean,
): readonly (readonly Literal[])[] | null {
  switch (expression.kind) {
    case "not":
      return alternativesOf(expression.of, !isNegated, isPermit);
    case "and":
    case "or": {
      const { left, right, kind } = expression;
      const isEither = (kind === "or") !== isNegated;
      const first = alternativesOf(left, isNegated, isPermit);
      const second = alternativesOf(right, isNegated, isPermit);
      if (first === null || second === null) return null;
      if (!isEither) return combined(first, second);
      const isExact = isPermit && !cannotFail(left);
      const guard = isExact ? alternativesOf(left, !isNegated, isPermit) : [[]];
      const guarded = guard === null ? null : combined(guard, second);
      return guarded === null ? null : bounded([...first, ...guarded]);
    }
    case "literal":
      return (expression.value === true) === isNegated ? [] : [[]];
    default:
      return [[{ atom: expression, isNegated }]];
  }
}

function combined(
  first: readonly (readonly Literal[])[],
  second: readonly (readonly Literal[])[],
): readonly (readonly Literal[])[] | null {
  return bounded(first.flatMap((one) => second.map((another) => [...one, ...another])));
}

function bounded(alternatives: readonly (readonly Literal[])[]) {
  return alternatives.length > MAX_ALTERNATIVES ? null : alternatives;
}

/** The members of the context that every request has. */
const ALWAYS_THERE: ReadonlySet<string> = new Set([
  "user",
  "agent",
  "channel",
  "group",
  "roles",
  "labels",
  "server",
  "tool",
]);

/** True for a condition that is never an error in Cedar. */
function cannotFail(expression: Expression): boolean {
  switch (expression.kind) {
    case "and":
    case "or":
      return cannotFail(expression.left) && cannotFail(expression.right);
    case "not":
      return cannotFail(expression.of);
    case "compare":
      return [expression.left, expression.right].every(isAlwaysThere);
    case "in":
      return isAlwaysThere(expression.of);
    case "is":
    case "like":
      return isAlwaysThere(expression.of);
    case "call":
      return expression.of !== null && [expression.of, ...expression.args].every(isAlwaysThere);
    case "literal":
    case "history":
      return true;
    default:
      return false;
  }
}

function isAlwaysThere(expression: Expression): boolean {
  switch (expression.kind) {
    case "literal":
    case "entity":
      return true;
    case "set":
      return expression.items.every(isAlwaysThere);
    case "variable":
      return expression.name !== "context";
    case "call":
      return isUserName(expression);
    case "attribute":
      return (
        expression.of.kind === "variable" &&
        expression.of.name === "context" &&
        ALWAYS_THERE.has(expression.name)
      );
    default:
      return false;
  }
}

/** AgentCore has the name of the user in a tag of the principal; every caller has one here. */
function isUserName(expression: Expression): boolean {
  if (expression.kind !== "call" || expression.name !== "getTag") return false;
  const { of, args } = expression;
  const [tag] = args;
  const isPrincipal = of?.kind === "variable" && of.name === "principal";
  return isPrincipal && tag?.kind === "literal" && tag.value === "username";
}
