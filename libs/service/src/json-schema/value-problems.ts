import type { ErrorObject } from "ajv";
import { locate, parsePointer, pointerToken } from "@switchyard/contracts/json-pointer";
import type { ValueProblem } from "@switchyard/contracts/mcp-broker/mcp";
import { visible } from "../visible-text.ts";

const MAX_PROBLEMS = 5;
const MAX_TEXT = 300;

/** The problems of a value that does not fit, for its caller: the position, and the schema's requirement there. Never the value. */
export function valueProblems(errors: readonly ErrorObject[], value: unknown): ValueProblem[] {
  // A failed alternative comes with the errors of its branches before it, and is the most useful one.
  const shown = errors.length > MAX_PROBLEMS ? errors.slice(-MAX_PROBLEMS) : errors;
  return shown.map((error) => {
    const { pointer, expected } = problemOf(error, value);
    return { pointer: visible(pointer, MAX_TEXT), expected: visible(expected, MAX_TEXT) };
  });
}

function problemOf(
  { keyword, instancePath, params, message }: ErrorObject,
  value: unknown,
): ValueProblem {
  const at = (name: unknown): string => `${instancePath}/${pointerToken(String(name))}`;
  const here = (expected: string): ValueProblem => ({ pointer: instancePath, expected });
  switch (keyword) {
    case "type":
      return here(`${[params["type"]].flat().join(" or ")}, not ${typeAt(value, instancePath)}`);
    case "required":
    case "dependentRequired":
      return { pointer: at(params["missingProperty"]), expected: "is required" };
    case "additionalProperties":
      return { pointer: at(params["additionalProperty"]), expected: "is not a known property" };
    case "unevaluatedProperties":
      return { pointer: at(params["unevaluatedProperty"]), expected: "is not a known property" };
    case "enum":
      return here(`one of ${JSON.stringify(params["allowedValues"])}`);
    case "const":
      return here(JSON.stringify(params["allowedValue"]));
    case "pattern":
      return here(`text like ${String(params["pattern"])}`);
    case "yardUnique":
      return here("items that differ from each other");
    case "yardMultiple":
      return here("a multiple of the number that the schema names");
    case "yardLength":
      return here("text of another length");
    case "yardFormat":
      return here("text of the format that the schema names");
    case "anyOf":
    case "oneOf":
      return here(message ?? keyword);
    default:
      return here((message ?? keyword).replace(/^must (?:be )?/, ""));
  }
}

/** The JSON type of what is at a pointer. */
function typeAt(value: unknown, pointer: string): string {
  const found = locate(value, parsePointer(pointer) ?? []);
  if (found.kind !== "found") return "missing";
  if (found.value === null) return "null";
  return Array.isArray(found.value) ? "array" : typeof found.value;
}
