/** The known name that a mistyped one is probably meant to be, or null when none is near: at most two edits, and not more than half of its length. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const limit = Math.min(2, Math.floor(name.length / 2));
  let nearest: { name: string; distance: number } | null = null;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && (nearest === null || distance < nearest.distance)) {
      nearest = { name: candidate, distance };
    }
  }
  return nearest?.name ?? null;
}

/** Levenshtein distance, one row at a time. Names longer than 64 characters are cut: they are no typing errors of ours. */
function editDistance(left: string, right: string): number {
  const a = left.slice(0, 64);
  const b = right.slice(0, 64);
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
