import { z } from "zod";
import { withPlainKeys } from "./plain-key.ts";

/** Describes how a field of a skill is read; its values are text as it was written, or lists and mappings of text. */
export interface Field<T> {
  readonly schema: z.ZodType<T>;
  /** The value when the file does not have the field. */
  readonly absent: T;
  /** The value when the field cannot be read; for a restriction, the strictest reading. */
  readonly strict: T;
  /**
   * The rule that the warning about an unreadable field states. Undefined when the field neither restricts nor grants; then there
   * is no warning.
   */
  readonly rule?: string;
  /** Spellings beside `user-invocable`, `user_invocable` and `userInvocable`, which count for every field. */
  readonly slips?: readonly string[];
  /** True for a field that restricts the skill. Its value must survive every repair. */
  readonly restricts?: true;
  /** Read line by line where the frontmatter is not YAML. Restrictions are, too. */
  readonly isReadAlone?: true;
}

const MAX_ITEMS = 128;
const ArgumentName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const Trimmed = z.string().transform((text) => text.trim());
const Word = Trimmed.transform((text) => text.toWellFormed()).transform((text) => text || null);
const Flag = z.stringbool({
  truthy: ["true", "yes", "on", "1"],
  falsy: ["false", "no", "off", "0"],
});
const Words = z
  .union([z.string().transform(wordsOf), z.array(z.string())])
  .transform((words) => withoutEmpty(words));
/** Commas, line ends and spaces separate; brackets hold together. */
const Items = z
  .union([
    z.string().transform((text) => text.match(/(?:[^\s,()]|\([^()]{0,200}\))+/g) ?? []),
    z.array(z.string()),
  ])
  .transform((items) => withoutEmpty(items).slice(0, MAX_ITEMS));
const Phrase = z.string().transform((text) => text.replaceAll(/\s+/g, " ").trim());
const Phrases = z.union([Phrase.transform((text) => [text]), z.array(Phrase)]);
// Unquoted, `[file]` is a YAML list; the brackets are put back.
const Hint = z.union([
  z.string(),
  z.array(z.string()).transform((items) => `[${items.join(", ")}]`),
]);

const mustBeText = "must be text; the file counts as having no such field";
const text: Field<string | undefined> = {
  schema: Trimmed,
  absent: undefined,
  strict: undefined,
  rule: mustBeText,
  isReadAlone: true,
};
const word: Field<string | null> = { schema: Word, absent: null, strict: null };
const phrases: Field<string[]> = { schema: Phrases, absent: [], strict: [] };
const names: Field<string[]> = {
  schema: Words.refine((all) => all.every((name) => ArgumentName.test(name))),
  absent: [],
  strict: [],
  rule: "must be names of letters, digits, _ and -, separated by spaces; read as none",
};
const raw: Field<unknown> = { schema: z.unknown(), absent: undefined, strict: undefined };

/** Every field that is read from a skill, whatever client's format it comes from. */
export const FIELDS = {
  name: text,
  description: text,
  "user-invocable": {
    schema: Flag,
    absent: true,
    strict: false,
    rule: "must be true or false; read as false",
    slips: ["user-invokable", "user-invocatable", "user-invokeable"],
    restricts: true,
  } satisfies Field<boolean>,
  "disable-model-invocation": {
    schema: Flag,
    absent: false,
    strict: true,
    rule: "must be true or false; read as true",
    slips: ["disable-model-invokation", "disabled-model-invocation", "disable-model-invocations"],
    restricts: true,
  } satisfies Field<boolean>,
  /** Null: no restriction, which an empty list is, too. */
  "allowed-tools": {
    schema: Words.transform((words) => (words.length === 0 ? null : words)),
    absent: null,
    strict: [],
    rule: "must be a list of tool names; until it can be read the skill may use none",
    slips: ["allowed-tool", "allow-tools", "allowedtools"],
    restricts: true,
  } satisfies Field<string[] | null>,
  "disallowed-tools": {
    schema: Items,
    absent: [],
    strict: ["*"],
    rule: "must be a list of tool names; read as every tool",
    slips: [
      "disallowed-tool",
      "disallow-tools",
      "disallowedtools",
      "denied-tools",
      "forbidden-tools",
    ],
    restricts: true,
  } satisfies Field<string[]>,
  "argument-hint": {
    schema: Hint,
    absent: null,
    strict: null,
    rule: "must be text",
    isReadAlone: true,
  } satisfies Field<string | null>,
  arguments: names,
  /** The same under its older name. */
  variables: names,
  "when-to-use": phrases,
  triggers: phrases,
  tags: phrases,
  keywords: phrases,
  "command-dispatch": word,
  "command-tool": word,
  "command-arg-mode": word,
  license: word,
  compatibility: word,
  version: word,
  author: word,
  homepage: word,
  model: word,
  agent: word,
  effort: oneOf(["low", "medium", "high", "xhigh", "max"]),
  context: oneOf(["fork"]),
  shell: oneOf(["bash", "powershell"]),
  background: { schema: Flag, absent: null, strict: null } satisfies Field<boolean | null>,
  paths: { schema: Items, absent: [], strict: [] } satisfies Field<string[]>,
  hooks: raw,
  metadata: raw,
  plan: raw,
} as const;

export type FieldName = keyof typeof FIELDS;
export type FieldValue<N extends FieldName> = (typeof FIELDS)[N] extends {
  absent: infer A;
  strict: infer S;
  schema: z.ZodType<infer T>;
}
  ? A | S | T
  : never;

export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(FIELDS, name);
}

/** The facts of a field, as every field has them. */
export function fieldNamed(name: FieldName): Field<unknown> {
  return FIELDS[name];
}

const SLIPS = new Map(
  Object.keys(FIELDS)
    .filter((name) => isFieldName(name))
    .flatMap((name) => (fieldNamed(name).slips ?? []).map((slip) => [slip, name] as const)),
);

/**
 * The field that a key is a spelling of, also with blanks, dots, quotes, other hyphens or lookalikes of its letters; of an
 * unknown key the key in lower case with hyphens.
 */
export function fieldOf(key: string): string {
  // Most keys are spelled as the field is called.
  if (/^[a-z-]+$/.test(key)) return SLIPS.get(key) ?? key;
  const kebab = withPlainKeys(key)
    .replaceAll(/["'*`]/g, "")
    .trim()
    .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll(/[-_. \t]+/g, "-");
  return SLIPS.get(kebab) ?? kebab;
}

/** True for a key that other clients read as the same field. */
export function isUsualSpelling(key: string, name: FieldName): boolean {
  return /^[A-Za-z_-]+$/.test(key) && !SLIPS.has(key) && fieldOf(key) === name;
}

function oneOf<T extends string>(words: readonly T[]): Field<T | null> {
  const schema = Trimmed.transform(
    (written) => words.find((one) => one === written.toLowerCase()) ?? null,
  );
  return { schema, absent: null, strict: null };
}

/** Splits at commas and spaces, but not inside brackets: `Read, Bash(git add:*)` is two words. */
function wordsOf(written: string): string[] {
  if (!written.includes("(")) return written.split(/[\s,]/);
  const words: string[] = [];
  let current = "";
  let depth = 0;
  for (const character of written) {
    if (character === "(") depth += 1;
    if (character === ")") depth = Math.max(0, depth - 1);
    if (depth === 0 && /[\s,]/.test(character)) {
      words.push(current);
      current = "";
    } else {
      current += character;
    }
  }
  return [...words, current];
}

function withoutEmpty(words: readonly string[]): string[] {
  return words.map((one) => one.trim()).filter((one) => one !== "");
}
