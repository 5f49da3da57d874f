/**
 * The model that fits the wishes best: the first choice whose name has the first wish that any
 * choice has in it. Wishes only choose among what the operator offers; the first choice is for none.
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
