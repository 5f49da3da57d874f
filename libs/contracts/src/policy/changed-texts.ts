/** A position at which arguments differ from those of the last approved call; this file is for browsers, too, and imports no contract. */
interface ArgumentChange {
  readonly pointer: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** A text and the one that replaces it. */
export interface ChangedText {
  /** The file or object that has it, as the arguments name it. */
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Arguments that name the object of a call, the most precise first. */
export const OBJECTS = [
  "path",
  "file",
  "file_path",
  "filePath",
  "filename",
  "url",
  "uri",
  "command",
  "cmd",
];
export const MORE_OBJECTS = ["query", "to", "recipient", "title", "name", "id", "source"];
const SHORT = 40;

/**
 * The changes that arguments make to texts: texts that they replace, and else texts of several lines that differ from the last approved
 * call. `args` is the JSON of a presentation.
 */
export function changedTexts(
  args: string,
  changes: readonly ArgumentChange[] | null,
): readonly ChangedText[] {
  const given = objectOf(args);
  const name = [...OBJECTS, ...MORE_OBJECTS].map((key) => given[key]).find(isShortText) ?? "text";
  const pairs = textPairs(given).map(({ before, after }) => ({ name, before, after }));
  if (pairs.length > 0) return pairs;
  return (changes ?? []).flatMap(({ pointer, before, after }) =>
    before !== null && after !== null && `${plain(before)}${plain(after)}`.includes("\n")
      ? [{ name: pointer, before: plain(before), after: plain(after) }]
      : [],
  );
}

/** The names that tools have for a text and the one that replaces it. */
const PAIRS = [
  ["oldText", "newText"],
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["before", "after"],
] as const;

/** The pairs of texts in arguments that replace one by the other. */
export function textPairs(
  args: Readonly<Record<string, unknown>>,
): readonly Omit<ChangedText, "name">[] {
  const edits = Array.isArray(args["edits"]) ? (args["edits"] as unknown[]) : [];
  return [args, ...edits].flatMap((one) => {
    const texts = typeof one === "object" && one !== null ? (one as Record<string, unknown>) : {};
    return PAIRS.flatMap(([from, to]) => {
      const [before, after] = [texts[from], texts[to]];
      return typeof before === "string" && typeof after === "string" ? [{ before, after }] : [];
    });
  });
}

/** A changed value is shown as JSON; its text has real line breaks. */
function plain(value: string): string {
  const parsed = parse(value);
  return typeof parsed === "string" ? parsed : value;
}

/** Returns arguments as an object; an empty one for arguments that are cut. */
export function objectOf(args: string): Readonly<Record<string, unknown>> {
  const parsed = parse(args);
  const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  return isObject ? (parsed as Record<string, unknown>) : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** True for a text of one line that names something. */
export function isShortText(value: unknown): value is string {
  return (
    typeof value === "string" && value !== "" && value.length <= SHORT * 2 && !value.includes("\n")
  );
}
