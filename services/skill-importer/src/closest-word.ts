/** The known word that a misspelt one most likely means, or null when none is near. */
export function closestWord(word: string, known: readonly string[]): string | null {
  const folded = fold(word);
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(folded.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(folded, fold(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

const MAX_COMPARED = 64;

function fold(word: string): string {
  return word.slice(0, MAX_COMPARED).toLowerCase().replaceAll(/[-_ ]/g, "");
}

/** Levenshtein's distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [y, character] of from.split("").entries()) {
    const next = [y + 1];
    for (let x = 0; x < to.length; x += 1) {
      const replaced = (row[x] ?? 0) + (to[x] === character ? 0 : 1);
      next.push(Math.min(replaced, (row[x + 1] ?? 0) + 1, (next[x] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
