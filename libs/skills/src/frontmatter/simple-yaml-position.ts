import type { Position } from "../finding.ts";

/**
 * Returns the position of a top-level value in a text that the simple reader accepted, without the library: there every line that
 * begins with a key is that key's line. Returns null when only the library can find the position, such as for a value on further
 * lines.
 */
export function positionOfSimpleValue(
  text: string,
  path: readonly PropertyKey[],
  linesBefore: number,
): Position | null {
  const [key] = path;
  if (typeof key !== "string" || path.length > 1) return null;
  const start = `${key}: `;
  const lines = text.split("\n");
  const index = lines.findIndex((line) => line.startsWith(start));
  const spaces = lines[index]?.slice(start.length).search(/[^ ]/) ?? -1;
  if (spaces < 0) return null;
  return { line: index + 1 + linesBefore, column: start.length + spaces + 1 };
}
