import type { DataValidateFunction } from "ajv/dist/types/index.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { canonicalJson } from "@switchyard/contracts/canonical-json";
import type { ValueProblem } from "@switchyard/contracts/mcp-broker/mcp";
import type { JsonRecord } from "@switchyard/contracts/json-record";
import { compileLinearRegex, spend, withBudget, WorkExceededError } from "./linear-regex.ts";
import { prepareSchema } from "./prepare-schema.ts";
import { FORMATS } from "./text-formats.ts";
import type { ErrorObject } from "ajv";
import { locate, parsePointer, pointerToken } from "@switchyard/contracts/json-pointer";
import { visible } from "../visible-text.ts";

/** Returns where a value does not fit; an empty list when it does. Never throws. */
export type Validate = (value: unknown) => readonly ValueProblem[];

/** The limit on the cost of one check: up to half a microsecond each in the worst schemas that were measured. */
const MAX_STEPS = 250_000;

const TOO_MUCH: readonly ValueProblem[] = [
  { pointer: "", expected: "a value that can be checked with less work" },
];

/**
 * Compiles a schema of an MCP server. One that is too complex, or that the compiler refuses, checks nothing: the server checks its own
 * arguments too, and a finding on the tool reports it.
 */
export function compileSchema(raw: JsonRecord): Validate {
  const prepared = prepareSchema(raw);
  const validate = prepared.kind === "ready" ? compilePrepared(prepared.schema) : null;
  return validate ?? (() => []);
}

/** Compiles what `prepareSchema` has made; null when the compiler refuses it. */
export function compilePrepared(schema: object): Validate | null {
  const check = compiled(schema);
  if (check === null) return null;
  return (value) => {
    try {
      return withBudget(MAX_STEPS, () => check(value));
    } catch (error) {
      // A value nested as deep as the stack ends in a RangeError.
      if (error instanceof WorkExceededError || error instanceof RangeError) return TOO_MUCH;
      throw error;
    }
  };
}

function compiled(schema: object): Validate | null {
  try {
    const validate = createAjv().compile(schema);
    return (value) => (validate(value) ? [] : valueProblems(validate.errors ?? [], value));
  } catch {
    return null;
  }
}

/** There is one for each schema: an instance stores what it compiled for as long as it lives. */
function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    addUsedSchema: false,
    // Written into one function, references that fan out would make it as large as what they unfold to.
    inlineRefs: false,
    ownProperties: true,
    logger: false,
    // The compiler's own optimisation takes four times as long as all the rest, and little off a check.
    code: { regExp: linearRegExp, optimize: false },
  });
  ajv.addKeyword({
    keyword: "yardStep",
    schemaType: "number",
    compile: (steps: number) => () => {
      spend(steps);
      return true;
    },
  });
  ajv.addKeyword({
    keyword: "yardUnique",
    schemaType: "boolean",
    type: "array",
    compile: () => isUnique,
  });
  ajv.addKeyword({ keyword: "yardEnum", schemaType: "array", errors: true, compile: oneOf });
  ajv.addKeyword({ keyword: "yardConst", errors: true, compile: (value) => oneOf([value]) });
  ajv.addKeyword({
    keyword: "yardMultiple",
    schemaType: "number",
    type: "number",
    compile: (divisor: number) => (value: number) => isMultiple(value, divisor),
  });
  ajv.addKeyword({
    keyword: "yardLength",
    schemaType: "object",
    type: "string",
    compile: (limits: LengthLimits) => (text: string) => hasLength(text, limits),
  });
  ajv.addKeyword({
    keyword: "yardFormat",
    schemaType: "string",
    type: "string",
    compile: (name: string) => (text: string) => hasFormat(text, name),
  });
  return ajv;
}

function hasFormat(text: string, name: string): boolean {
  spend(1 + text.length / 64);
  return FORMATS.get(name)?.(text) ?? true;
}

interface LengthLimits {
  readonly min?: number;
  readonly max?: number;
}

const linearRegExp = Object.assign(
  (pattern: string) => {
    const result = compileLinearRegex(pattern);
    // `prepareSchema` left out the patterns that the engine refuses; the empty pattern matches any name.
    if ("problem" in result) throw new TypeError(result.problem);
    return result.regex;
  },
  { code: "unused: validators are not written to files" },
);

/** The compiler's own comparison is quadratic in the items. */
function isUnique(items: readonly unknown[]): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const text = canonicalJson(item);
    spend(1 + text.length / 16);
    if (seen.has(text)) return false;
    seen.add(text);
  }
  return true;
}

/** The largest distance of a quotient from a whole number, relative to itself: division and the parsing of decimals round. */
const QUOTIENT_ERROR = 2 ** -50;

/** 19.99 is a multiple of 0.01, though the quotient of the two binary numbers is not whole. */
function isMultiple(value: number, divisor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0;
  const quotient = value / divisor;
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * QUOTIENT_ERROR;
}

/** Accepts values that equal one of these as JSON. */
function oneOf(values: readonly unknown[]): DataValidateFunction {
  const texts = new Set(values.map(canonicalJson));
  const check: DataValidateFunction = (value) => {
    const text = canonicalJson(value);
    spend(1 + text.length / 16);
    if (texts.has(text)) return true;
    check.errors = [{ keyword: "enum", params: { allowedValues: values } }];
    return false;
  };
  return check;
}

/** Length in code points, counted only where the length in code units does not settle it. */
function hasLength(
  text: string,
  { min = 0, max = Number.POSITIVE_INFINITY }: LengthLimits,
): boolean {
  if (text.length < min || text.length / 2 > max) return false;
  if (text.length / 2 >= min && text.length <= max) return true;
  spend(1 + text.length / 64);
  let length = 0;
  for (const _ of text) length += 1;
  return length >= min && length <= max;
}

const MAX_PROBLEMS = 5;
const MAX_TEXT = 300;

/** The problems of a value that does not fit, for its caller: the position, and the schema's requirement there. Never the value. */
function valueProblems(errors: readonly ErrorObject[], value: unknown): ValueProblem[] {
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
