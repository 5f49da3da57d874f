import { locate, parsePointer, pointerToken } from "@switchyard/contracts/json-pointer";

/**
 * Integers beyond 2^53, which a JavaScript number cannot hold. Between the services they are the text of their digits
 * (docs/reference/mcp.md#what-servers-and-clients-may-send).
 */
const DIGITS = /^-?[1-9]\d{15,}$/;
/** JSON writes larger numbers with an exponent, so their sender accepts that they are rounded. */
const WITH_EXPONENT = 1e21;

/** True for the text of an integer that no number holds. */
export function isLongInteger(value: unknown): boolean {
  return typeof value === "string" && DIGITS.test(value) && String(Number(value)) !== value;
}

/** Pointers to the integers of a value from JSON that were rounded when it was read. */
export function roundedIntegers(root: unknown): string[] {
  const pointers: string[] = [];
  const waiting: { value: unknown; pointer: string }[] = [{ value: root, pointer: "" }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, pointer } = next;
    if (isRounded(value)) pointers.push(pointer);
    if (typeof value !== "object" || value === null) continue;
    for (const [key, member] of Object.entries(value))
      waiting.push({ value: member, pointer: `${pointer}/${pointerToken(key)}` });
  }
  return pointers;
}

function isRounded(value: unknown): boolean {
  if (typeof value !== "number" || !Number.isInteger(value)) return false;
  return !Number.isSafeInteger(value) && Math.abs(value) < WITH_EXPONENT;
}

/** True when a long integer is at the pointer, below the root. */
export function hasLongInteger(root: unknown, pointer: string): boolean {
  if (pointer === "") return false;
  const tokens = parsePointer(pointer);
  const found = tokens === null ? null : locate(root, tokens);
  return found?.kind === "found" && isLongInteger(found.value);
}

/** A copy that is written as JSON with the digits of these long integers as numbers; the root itself cannot be one. */
export function withLongIntegers<T>(root: T, pointers: readonly string[]): T {
  return replaced(root, pointers, rawJson);
}

/** A copy with these long integers as numbers, rounded, which can be checked against the limits of a schema. */
export function withRoundedIntegers<T>(root: T, pointers: readonly string[]): T {
  return replaced(root, pointers, Number);
}

function replaced<T>(
  root: T,
  pointers: readonly string[],
  asNumber: (digits: string) => unknown,
): T {
  if (pointers.length === 0) return root;
  const copy = structuredClone(root);
  for (const pointer of pointers) {
    const tokens = parsePointer(pointer) ?? [];
    const parent = locate(copy, tokens.slice(0, -1));
    const name = tokens.at(-1);
    if (parent.kind !== "found" || name === undefined) continue;
    if (typeof parent.value !== "object" || parent.value === null) continue;
    Reflect.set(parent.value, name, asNumber(String(Reflect.get(parent.value, name))));
  }
  return copy;
}

/** https://github.com/tc39/proposal-json-parse-with-source, which Node 24 has and the types of TypeScript have not. */
function rawJson(text: string): unknown {
  return (JSON as typeof JSON & { rawJSON(raw: string): unknown }).rawJSON(text);
}
