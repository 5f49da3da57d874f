import type { Position } from "../finding.ts";

/**
 * The position of a top-level value in a text that the simple reader took, without the library: there every line that
 * begins with a key is that key's line. Null for what only the library can tell, such as a value on further lines.
 */
export function positionOfSimpleValue(
  text: string,
  path: readonly PropertyKey[],
  linesBefore: number,
): Position | null {
  const [key] = path;
  if (typeof key !== "string" || path.length > 1) return null;
  const start = `${key}: `;
  const before = text.startsWith(start) ? 0 : text.indexOf(`\n${start}`) + 1;
  if (before === 0 && !text.startsWith(start)) return null;
  let value = before + start.length;
  while (text[value] === " ") value += 1;
  if (text[value] === "\n") return null;
  let line = 1 + linesBefore;
  for (let at = text.indexOf("\n"); at >= 0 && at < before; at = text.indexOf("\n", at + 1))
    line += 1;
  return { line, column: value - before + 1 };
}
