/** Beginnings of lines that people copy, and the words that they stand for. */
const BEGINNINGS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^ *(?:\.\.?\/)?yard (?=[a-z])/, ""],
  [/^ *docker compose run --rm cli /, ""],
  [/^ *docker compose run --rm auditor /, "audit "],
];

/** The words after `yard` in a line of a document, as they would be typed; null when it is no such line. */
export function commandLineOf(line: string): string | null {
  for (const [pattern, words] of BEGINNINGS)
    if (pattern.test(line)) return `${words}${withoutRemark(line.replace(pattern, ""))}`;
  return null;
}

/** Help topics explain a command beside it, other documents behind a `#`. */
function withoutRemark(line: string): string {
  return line.replace(/ {2,}[^ ].*$/, "").trimEnd();
}
