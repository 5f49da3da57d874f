/** What Claude Code calls its tools → Switchyard's own that do the same. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  Read: "read_file",
  Write: "write_file",
  Edit: "edit_file",
  MultiEdit: "edit_file",
  LS: "list_files",
  Glob: "list_files",
  Grep: "search_files",
  Bash: "execute_command",
  WebFetch: "web_fetch",
  WebSearch: "web_search",
};
/** `Bash(git add:*)`: a tool with a limit on its arguments. */
const LIMITED = /^([A-Za-z][\w-]*)\((.*)\)$/s;

/**
 * The patterns that a list of allowed tools stands for. A tool with a limit on its arguments stands for none:
 * patterns know no arguments, and the tool without its limit would be more than was asked for.
 */
export function allowedPatterns(words: readonly string[]): string[] {
  return unique(words.flatMap((word) => (isLimited(word) ? [] : [ownName(word)])));
}

/** The patterns that a list of forbidden tools stands for; one with a limit on its arguments is forbidden whole. */
export function forbiddenPatterns(words: readonly string[]): string[] {
  return unique(words.map((word) => ownName(LIMITED.exec(word)?.[1] ?? word)));
}

/** Words with a limit on arguments, other than `(*)`, which is none. */
export function limitedTools(words: readonly string[]): string[] {
  return words.filter((word) => isLimited(word));
}

function isLimited(word: string): boolean {
  const [, , limit] = LIMITED.exec(word) ?? [];
  return limit !== undefined && limit !== "*";
}

function ownName(word: string): string {
  const name = LIMITED.exec(word)?.[1] ?? word;
  return Object.hasOwn(OWN_NAMES, name) ? (OWN_NAMES[name] ?? name) : name;
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)];
}
