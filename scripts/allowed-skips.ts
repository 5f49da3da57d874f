/** A reason for which a test may skip in CI. */
export interface AllowedSkip {
  /** Part of the reason that the test gives. */
  readonly reason: string;
  /** The reason why the skip is necessary in CI. */
  readonly because: string;
}

const SEPARATOR = " :: ";

/** Reads a list with a line `part of the reason :: why CI cannot do without` each; `#` begins a comment. Throws on any other line. */
export function readAllowedSkips(text: string): AllowedSkip[] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "" || line.startsWith("#")) return [];
    const [reason = "", because = "", ...more] = line.split(SEPARATOR).map((part) => part.trim());
    if (reason === "" || because === "" || more.length > 0)
      throw new Error(`line ${index + 1} is not "reason${SEPARATOR}why CI cannot do without"`);
    return [{ reason, because }];
  });
}

/** True when the list holds a part of this reason. */
export function isAllowedSkip(reason: string, list: readonly AllowedSkip[]): boolean {
  return list.some((allowed) => reason.includes(allowed.reason));
}
