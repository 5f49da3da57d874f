import type { Expression } from "./text-cuts.ts";

/** Turns that no other codebase of the field uses, each with what to write in its place. */
const AVOIDED: readonly (readonly [RegExp, string])[] = [
  [/\b(?:no|some|any)body\b|\bwho(?:m)?ever\b/i, "name the actor: no replica, a caller, the owner"],
  [/\b(?:tells?|told|telling)\b/i, "publish, log, return, show, notify or distinguish"],
  [/\b(?:hears?|heard|hearing)\b/i, "receive, subscribe or be notified"],
  [/\b(?:asks?|asked) again\b/i, "retry"],
  [/\b(?:is|are|was|were|be|been|being) asked\b/i, "is called, is queried or is prompted"],
  [/\blook(?:s|ed|ing)? again\b/i, "poll or recheck"],
  [/\b(?:go|goes|went|gone|going) on\b/i, "continue or resume"],
  [/\b(?:give|gives|gave|given|giving) back\b/i, "release or return"],
  [/\b(?:stand|stands|stood|standing) (?:in|beside)\b/i, "is in, is listed in or appears"],
  [/\bby (?:now|then)\b/i, "since, meanwhile or at that time"],
  [
    /\b(?:say|says|said) (?:that|so|nothing|what|who|whom|how|which|whether)\b/i,
    "state, report or return",
  ],
  [
    /\b(?:know|knows|knew|known) (?:of|nothing|what|who|whom)\b/i,
    "has, caches, is registered or is aware of",
  ],
  [/\b(?:patience|patient(?:ly)?|lends?|lent|mends?|mended)\b/i, "timeout, with… or fix"],
];

/** Beginnings of a comment that is a clause without a main clause. */
const FRAGMENTS: readonly RegExp[] = [
  /^(?:Of|Who|Whose|Whom|What|Whatever|Whether)\b/,
  /^(?:By|As|For)\b(?! default\b)[^,:;]*$/,
  /^(?:How|Why|Which|The one)\b/,
  /^(?:When|Where)\b[^,]*(?:$|[.;]|, (?:and|or|by|in|on|at|with)\b)/,
  /^That (?:an?|the|no|each|every|it|they)\b/,
];

/**
 * Returns what is wrong with the words of a comment or a title, one message each. Code in backticks and text in double quotes are
 * left out, since they may quote another program.
 */
export function wordingProblems(text: string): string[] {
  const plain = text.replaceAll(/`[^`]*`|"[^"]*"/g, "x");
  return AVOIDED.flatMap(([pattern, instead]) => {
    const [found] = pattern.exec(plain) ?? [];
    return found === undefined ? [] : [`"${found}": write ${instead}.`];
  });
}

/** The same for a whole comment, which has to be a sentence with a subject and a verb. */
export function commentProblems(text: string): string[] {
  const first = text.trim();
  const isFragment = FRAGMENTS.some((pattern) => pattern.test(first));
  const problems = wordingProblems(text);
  return isFragment
    ? ["A comment is a sentence with a subject and a verb, and this is a fragment.", ...problems]
    : problems;
}

const TITLED = new Set(["describe", "it", "suite", "test"]);

/** Returns the title of a test or of a group of tests, such as that of `t.test("…")`; empty for any other call. */
export function titleOf({ callee, arguments: [title] = [] }: Expression): string {
  const name = callee?.type === "MemberExpression" ? callee.property?.name : callee?.name;
  const isTest = TITLED.has(name ?? "") || TITLED.has(callee?.object?.name ?? "");
  return isTest && title !== undefined ? textOf(title) : "";
}

/** The position of the message among the arguments of assertions that do not have it as the third one. */
const MESSAGE_AT: Readonly<Record<string, number>> = { fail: 0, ok: 1 };

/** Returns the message of an assertion, such as that of `assert.ok(isDone, "…")`; empty for one without, and for any other call. */
export function assertionOf({ callee, arguments: args = [] }: Expression): string {
  if (callee?.object?.name !== "assert") return "";
  const message = args[MESSAGE_AT[callee.property?.name ?? ""] ?? 2];
  return message === undefined ? "" : textOf(message);
}

/** Returns the text of a literal; each expression within a template is one word. Empty for any other node. */
export function textOf({ value, quasis = [] }: Expression): string {
  if (typeof value === "string") return value;
  return quasis.map((quasi) => quasi.value.cooked ?? "").join("x");
}
