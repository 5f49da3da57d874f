import type { Approval, ArgumentChange } from "@switchyard/client/operations";
import {
  changedTexts,
  isShortText,
  MORE_OBJECTS,
  objectOf,
  OBJECTS,
  textPairs,
  type ChangedText,
} from "@switchyard/contracts/policy/changed-texts";
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

function changeText(
  pairs: readonly Omit<ChangedText, "name">[],
  changes: readonly ArgumentChange[],
): string | null {
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

/** The change that the arguments make to texts, as a unified patch. Null when they make none. */
export function argumentsDiff(
  args: string,
  changes: readonly ArgumentChange[] | null,
): string | null {
  const shown = changedTexts(args, changes);
  if (shown.length === 0) return null;
  return shown
    .map(({ name, before, after }) => filesDiff([{ name, text: before }], [{ name, text: after }]))
    .join("\n");
}
