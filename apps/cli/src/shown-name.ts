/** Tables mark a name that they cut with this sign. */
const CUT = "…";

/** The beginning that a table shows of a long name; null for a name that is whole. */
export function beginningOf(text: string): string | null {
  return text.length > 1 && text.endsWith(CUT) ? text.slice(0, -1) : null;
}

/** True when the text is this name, or what a table shows of it. */
export function isNamed(name: string, text: string): boolean {
  const beginning = beginningOf(text);
  return beginning === null ? name === text : name.startsWith(beginning);
}
