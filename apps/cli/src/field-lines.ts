import { printableLine } from "./printable.ts";
import { brokenLines, screenWidth } from "./table.ts";

const MAX_VALUE = 2_000;
const GAP = 2;
/** A narrower column is harder to read than a broken line. */
const NARROWEST = 24;

/**
 * `name   value` lines with the values aligned; empty values are left out. In a terminal a value is broken at its blanks, and goes
 * below its name where there is no room beside it.
 */
export function fieldLines(
  fields: readonly (readonly [name: string, value: string])[],
  screen: number = screenWidth(),
): string[] {
  const shown = fields.filter(([, value]) => value !== "");
  const longest = Math.max(0, ...shown.map(([name]) => name.length));
  const isNarrow = screen - longest - GAP < NARROWEST;
  const indent = isNarrow ? GAP : longest + GAP;
  const lines: string[] = [];
  for (const [name, value] of shown) {
    const [first = "", ...rest] = brokenLines(printableLine(value, MAX_VALUE), screen - indent);
    if (isNarrow) lines.push(name, " ".repeat(indent) + first);
    else lines.push(`${name.padEnd(longest)}  ${first}`);
    for (const line of rest) lines.push(" ".repeat(indent) + line);
  }
  return lines;
}
