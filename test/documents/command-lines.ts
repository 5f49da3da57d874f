/** What begins a line that people copy, and what it stands for. */
const BEGINNINGS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^ *(?:\.\/)?yard (?=[a-z])/, ""],
  [/^ *docker compose run --rm cli /, ""],
  [/^ *docker compose run --rm auditor /, "audit "],
];

/** The words after `yard` in a line of a document, as they would be typed; null when it is no such line. */
export function commandLineOf(line: string): string | null {
  for (const [pattern, words] of BEGINNINGS)
    if (pattern.test(line)) return `${words}${withoutRemark(line.replace(pattern, ""))}`;
  return null;
}

/** Help topics say beside a command what it does, other documents behind a `#`. */
function withoutRemark(line: string): string {
  return line.replace(/ {2,}[^ ].*$/, "").trimEnd();
}
