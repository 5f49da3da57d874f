import type { Approval, ArgumentChange } from "@switchyard/client/operations";
import { filesDiff } from "../core/files-diff.ts";
import { toolText } from "../core/names.ts";

/** Verbs by the first word of a tool's name. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  change: ["write", "edit", "update", "set", "patch", "modify", "append", "replace"],
  create: ["create", "add", "make", "new"],
  delete: ["delete", "remove", "rm", "drop"],
  read: ["read", "get", "show", "view", "fetch", "open"],
  list: ["list", "ls"],
  search: ["search", "find", "grep", "query"],
  move: ["move", "rename", "mv"],
  send: ["send", "post", "publish", "message", "mail"],
  run: ["run", "exec", "execute", "bash", "shell", "command"],
};

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
const MORE_OBJECTS = ["query", "to", "recipient", "title", "name", "id", "source"];
const SHORT = 40;

/** A call as a sentence: `payments wants to change invoices/ledger.md: open → paid`. */
interface Sentence {
  readonly who: string;
  readonly verb: string;
  /** The object that an argument names; null when none does. */
  readonly object: string | null;
  readonly tool: string;
  /** `open → paid`; null when there is more to it, or nothing to compare. */
  readonly change: string | null;
}

export function callSentence(
  { principal, tool }: Pick<Approval, "principal" | "tool">,
  args: string,
  changes: readonly ArgumentChange[] | null,
): Sentence {
  const given = objectOf(args);
  const object = [...OBJECTS, ...MORE_OBJECTS].map((name) => given[name]).find(isShortText) ?? null;
  const word = tool.tool.split(/[^A-Za-z]|(?=[A-Z])/, 1)[0]?.toLowerCase() ?? "";
  const verb = Object.entries(VERBS).find(([, words]) => words.includes(word))?.[0];
  return {
    who: principal.agent ?? principal.user,
    verb: verb !== undefined && object !== null ? verb : "call",
    object,
    tool: toolText(tool.name),
    change: changeText(textPairs(given), changes ?? []),
  };
}

function changeText(pairs: readonly Pair[], changes: readonly ArgumentChange[]): string | null {
  const [pair] = pairs;
  const [change] = changes;
  if (
    pairs.length === 1 &&
    pair !== undefined &&
    isShortText(pair.before) &&
    isShortText(pair.after)
  )
    return `${pair.before} → ${pair.after}`;
  if (pairs.length > 0 || changes.length !== 1 || change === undefined) return null;
  const { before, after } = change;
  return isShortText(before) && isShortText(after) ? `${before} → ${after}` : null;
}

interface Pair {
  readonly before: string;
  readonly after: string;
}

/** The names that tools have for a text and the one that replaces it. */
const PAIRS = [
  ["oldText", "newText"],
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["before", "after"],
] as const;

function textPairs(args: Readonly<Record<string, unknown>>): readonly Pair[] {
  const edits = Array.isArray(args["edits"]) ? (args["edits"] as unknown[]) : [];
  return [args, ...edits].flatMap((one) => {
    const texts = typeof one === "object" && one !== null ? (one as Record<string, unknown>) : {};
    return PAIRS.flatMap(([from, to]) => {
      const [before, after] = [texts[from], texts[to]];
      return typeof before === "string" && typeof after === "string" ? [{ before, after }] : [];
    });
  });
}

/**
 * The change that the arguments make to texts, as a unified patch: texts that they replace, and else texts of several lines that differ from the
 * last approved call. Null when there are none.
 */
export function argumentsDiff(
  args: string,
  changes: readonly ArgumentChange[] | null,
): string | null {
  const given = objectOf(args);
  const name = [...OBJECTS, ...MORE_OBJECTS].map((key) => given[key]).find(isShortText) ?? "text";
  const pairs = textPairs(given).map(({ before, after }) => ({ name, before, after }));
  const since = (changes ?? []).flatMap(({ pointer, before, after }) =>
    before !== null && after !== null && `${plain(before)}${plain(after)}`.includes("\n")
      ? [{ name: pointer, before: plain(before), after: plain(after) }]
      : [],
  );
  const shown = pairs.length > 0 ? pairs : since;
  if (shown.length === 0) return null;
  return shown
    .map(({ name: file, before, after }) =>
      filesDiff([{ name: file, text: before }], [{ name: file, text: after }]),
    )
    .join("\n");
}

/** A changed value is shown as JSON; its text has real line breaks. */
function plain(value: string): string {
  const parsed = parse(value);
  return typeof parsed === "string" ? parsed : value;
}

/** Arguments that are cut are no JSON any more. */
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

export function isShortText(value: unknown): value is string {
  return (
    typeof value === "string" && value !== "" && value.length <= SHORT * 2 && !value.includes("\n")
  );
}
