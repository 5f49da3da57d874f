import type { Expression } from "./cedar-ast.ts";
import { pointerOf } from "./translate-argument.ts";

/** Names an expression for people. */
export function nameOf(expression: Expression): string {
  switch (expression.kind) {
    case "other":
      return expression.what;
    case "call":
      return `the call of ${expression.name}`;
    case "compare":
      return `the comparison ${textOf(expression.left)} ${expression.op} ${textOf(expression.right)}`;
    default:
      return `the condition on ${textOf(expression)}`;
  }
}

function textOf(expression: Expression): string {
  switch (expression.kind) {
    case "literal":
      return JSON.stringify(expression.value);
    case "entity":
      return `${expression.type}::${JSON.stringify(expression.id)}`;
    case "variable":
      return expression.name;
    case "attribute":
      return pointerOf(expression) ?? `${textOf(expression.of)}.${expression.name}`;
    case "has":
    case "like":
    case "is":
    case "in":
      return textOf(expression.of);
    case "call":
      return expression.of === null ? expression.name : textOf(expression.of);
    default:
      return "an expression";
  }
}
