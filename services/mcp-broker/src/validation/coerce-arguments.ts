import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { parseJson } from "../json/json-value.ts";

/** Deeper arguments stay as they are. */
const MAX_DEPTH = 20;

/**
 * Converts texts that clearly represent the number, boolean, list or object that their schema requires; models and some clients write
 * such texts. Returns the same object when nothing changes.
 */
export function coerceArguments(args: JsonRecord, schema: JsonRecord): JsonRecord {
  const result = coerced(args, schema, 0);
  return isRecord(result) ? result : args;
}

function coerced(value: unknown, schema: unknown, depth: number): unknown {
  if (!isRecord(schema) || depth > MAX_DEPTH) return value;
  if (typeof value === "string") {
    const types = [schema["type"]].flat();
    const read = types.includes("string") ? value : readText(value, types);
    return read === value ? value : coerced(read, schema, depth + 1);
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => coerced(item, schema["items"], depth + 1));
    return items.every((item, n) => item === value[n]) ? value : items;
  }
  const { properties } = schema;
  if (!isRecord(value) || !isRecord(properties)) return value;
  const entries = Object.entries(value).map(([name, member]) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, coerced(member, own, depth + 1)] as const;
  });
  return entries.every(([name, member]) => member === value[name])
    ? value
    : Object.fromEntries(entries);
}

/** The text as a value of the first type that it clearly represents, else the text. */
function readText(text: string, types: readonly unknown[]): unknown {
  const trimmed = text.trim();
  if (/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(trimmed)) {
    const number = Number(trimmed);
    const isExact = !Number.isInteger(number) || Number.isSafeInteger(number);
    if (isExact && types.includes("number")) return number;
    if (isExact && types.includes("integer") && Number.isInteger(number)) return number;
  }
  if (types.includes("boolean") && /^(?:true|false)$/i.test(trimmed))
    return trimmed.toLowerCase() === "true";
  if (types.includes("null") && trimmed === "null") return null;
  if (!/^[[{]/.test(trimmed)) return text;
  const json = parseJson(trimmed);
  if (types.includes("array") && Array.isArray(json)) return json;
  return types.includes("object") && isRecord(json) ? json : text;
}
