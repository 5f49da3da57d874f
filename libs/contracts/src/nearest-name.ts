import { cutText } from "./cut-text.ts";

/**
 * The known name that a misspelt one is probably meant to be, or null when none is near: at most two edits, and not more than half of its
 * length. Case and separators do not count.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  const folded = fold(name);
  const limit = Math.min(2, Math.floor(folded.length / 2));
  let nearest: { name: string; distance: number } | null = null;
  for (const candidate of known) {
    const distance = editDistance(folded, fold(candidate));
    if (distance <= limit && (nearest === null || distance < nearest.distance)) {
      nearest = { name: candidate, distance };
    }
  }
  return nearest?.name ?? null;
}

/** Longer names are not typing errors, and would cost their length squared. */
const MAX_COMPARED = 64;

function fold(name: string): string {
  return cutText(name, MAX_COMPARED).toLowerCase().replaceAll(/[-_ ]/g, "");
}

/** Levenshtein's distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous.at(-1) ?? 0;
}
