/** Null for what is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The nesting that a reply adds around a value, and the deeper stack of the code that sends it. */
const ROOM = 100;

/** The size of a value as JSON; null for a value nested too deeply to be serialised, here or in a reply around it. */
export function jsonBytes(value: unknown): number | null {
  let nested = value;
  for (let depth = 0; depth < ROOM; depth += 1) nested = [nested];
  try {
    return Buffer.byteLength(JSON.stringify(nested)) - 2 * ROOM;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** True when nothing in the value is nested deeper than this; texts cost nothing. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0) return false;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.every((member) => isShallow(member, levels - 1));
}
