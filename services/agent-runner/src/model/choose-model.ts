/**
 * Chooses the model that fits the hints best: the first choice whose name contains the first hint that any choice contains. Hints
 * only select among what the operator offers; without a match, the first choice is taken.
 */
export function chooseModel(
  choices: readonly [string, ...string[]],
  hints: readonly string[],
): string {
  for (const hint of hints) {
    const wanted = hint.trim().toLowerCase();
    const found = choices.find((name) => wanted !== "" && name.toLowerCase().includes(wanted));
    if (found !== undefined) return found;
  }
  return choices[0];
}
