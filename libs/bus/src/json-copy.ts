import { types } from "node:util";
import type { JsonLimits } from "@switchyard/contracts/json-limits";
import { FEW_VALUES } from "./bounded-json.ts";
import { MAX_PAYLOAD_BYTES } from "./claim-check.ts";

/** A value as the other side of a JSON text reads it. */
export interface JsonCopy {
  readonly value: unknown;
  /** Approximate size of the JSON text. */
  readonly bytes: number;
  /** The value of {@link JsonGauge.isLarge} for the JSON text. */
  readonly isLarge: boolean;
}

/** The limits of replies, which Switchyard's own services make: a deeper one has a cycle. */
export const REPLY_LIMITS: JsonLimits = {
  maxBytes: MAX_PAYLOAD_BYTES,
  maxDepth: 200,
  maxKeys: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
};

/**
 * Copies a value as `parseJson(encodeJson(value))` does, without the text: members that JSON leaves out are left out, `NaN` becomes
 * null, `-0` becomes 0, dates become texts, texts become well-formed, and nothing of the copy is an object of the original. Null for what JSON cannot carry or what would
 * be beyond the limits, whose keys, values and levels are counted as by {@link JsonGauge}.
 */
export function copyJson(value: unknown, limits: JsonLimits): JsonCopy | null {
  const counts = { limits, bytes: 0, keys: 0, values: 0 };
  try {
    const copy = copied(value, counts, 0, "");
    checkCounts(counts);
    return { value: copy, bytes: counts.bytes, isLarge: counts.values > FEW_VALUES };
  } catch (error) {
    if (error === NOT_JSON) return null;
    throw error;
  }
}

const NOT_JSON = new Error("not JSON, or beyond its limits");

interface Counts {
  readonly limits: JsonLimits;
  bytes: number;
  keys: number;
  values: number;
}

function checkCounts({ limits, bytes, keys, values }: Counts): void {
  if (bytes > limits.maxBytes || keys > limits.maxKeys || values > limits.maxValues) throw NOT_JSON;
}

/** Returns undefined for a value without a JSON form. */
// oxlint-disable-next-line max-params -- one object for each value would take longer than the copy
function copied(value: unknown, counts: Counts, depth: number, key: string): unknown {
  switch (typeof value) {
    case "string":
      counts.bytes += value.length + 3;
      return value.toWellFormed();
    case "number":
      counts.bytes += 8;
      // Adding 0 makes -0 a 0.
      return Number.isFinite(value) ? value + 0 : null;
    case "boolean":
      counts.bytes += 5;
      return value;
    case "object":
      if (value === null) {
        counts.bytes += 5;
        return null;
      }
      return copiedObject(value, counts, depth, key);
    case "bigint":
      throw NOT_JSON;
    default:
      return undefined;
  }
}

// oxlint-disable-next-line max-params -- one object for each value would take longer than the copy
function copiedObject(value: object, counts: Counts, depth: number, key: string): unknown {
  if (depth >= counts.limits.maxDepth) throw NOT_JSON;
  checkCounts(counts);
  if (!("toJSON" in value) || typeof value.toJSON !== "function")
    return copiedMembers(value, counts, depth);
  const given: unknown = value.toJSON(key);
  // JSON.stringify does not call toJSON of a value that toJSON returned.
  return typeof given === "object" && given !== null
    ? copiedMembers(given, counts, depth)
    : copied(given, counts, depth, key);
}

function copiedMembers(value: object, counts: Counts, depth: number): unknown {
  counts.bytes += 2;
  if (Array.isArray(value)) return copiedArray(value, counts, depth);
  if (isBoxed(value)) return copied(value.valueOf(), counts, depth, "");
  const copy: Record<string, unknown> = {};
  let members = 0;
  for (const name of Object.keys(value)) {
    // Only own members are read.
    const member = copied((value as Record<string, unknown>)[name], counts, depth + 1, name);
    if (member === undefined) continue;
    members += 1;
    counts.bytes += name.length + 3;
    if (name === "__proto__") ownProto(copy, member);
    else copy[name.toWellFormed()] = member;
  }
  counts.keys += members;
  counts.values += Math.max(1, members);
  return copy;
}

function copiedArray(value: readonly unknown[], counts: Counts, depth: number): unknown[] {
  const { length } = value;
  counts.values += Math.max(1, length);
  checkCounts(counts);
  const copy: unknown[] = [];
  for (let index = 0; index < length; index += 1) {
    const element = copied(value[index], counts, depth + 1, String(index));
    if (element === undefined) counts.bytes += 5;
    copy.push(element ?? null);
  }
  return copy;
}

/** JSON.stringify unwraps boxed numbers, texts and booleans, and leaves symbols out. */
function isBoxed(value: object): boolean {
  if (Object.getPrototypeOf(value) === Object.prototype) return false;
  return types.isBoxedPrimitive(value) && !types.isSymbolObject(value);
}

/** An assignment would set the prototype, where JSON.parse makes a member. */
function ownProto(target: object, value: unknown): void {
  Object.defineProperty(target, "__proto__", {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
