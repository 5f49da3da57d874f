import { diffArrays } from "diff";

/** Texts that differ in more lines are shown one after the other: comparing them would take more than a tenth of a second. */
const MAX_EDITS = 1_000;
const CONTEXT = 3;

/**
 * Returns the difference of two texts by lines, each with ` `, `-` or `+` before it and three unchanged lines around each change;
 * `…` replaces lines that are left out. Empty for equal texts.
 */
export function lineDiff(before: string, after: string): string {
  if (before === after) return "";
  const [a, b] = [before.split("\n"), after.split("\n")];
  const changes = diffArrays(a, b, { maxEditLength: MAX_EDITS }) ?? [
    { value: a, removed: true, added: false },
    { value: b, removed: false, added: true },
  ];
  const lines = changes.flatMap(({ value, removed, added }) => {
    const sign = removed ? "-" : added ? "+" : " ";
    return value.map((text) => `${sign}${text}`);
  });
  return withContext(lines);
}

function withContext(lines: readonly string[]): string {
  const isShown = new Uint8Array(lines.length);
  for (const [index, line] of lines.entries()) {
    if (line.startsWith(" ")) continue;
    isShown.fill(1, Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1));
  }
  const shown: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (isShown[index] === 1) shown.push(line);
    else if (shown.at(-1) !== "…") shown.push("…");
  }
  return shown.join("\n");
}
