import { printableLine } from "./printable.ts";

const MAX_VALUE = 2_000;

/** `name   value` lines with the values aligned; empty values are left out. */
export function fieldLines(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const shown = fields.filter(([, value]) => value !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${printableLine(value, MAX_VALUE)}`);
}
