import { fieldNamed, fieldOf, FIELDS, isFieldName, type FieldName } from "./fields.ts";
import { withPlainKeys } from "./plain-key.ts";
import { isMapping, type YamlMapping, type YamlValue } from "./yaml-value.ts";

/** Separators that are accepted between the parts of a key. */
const GAP = String.raw`[-_. \t]{0,3}`;
/** Marks that are accepted before a key on its line: indentation, list, quotation, bracket, emphasis. */
const MARGIN = String.raw`^[\s>*_"'\x60{,<-]{0,12}`;
const ENDS = String.raw`["'*_\x60]{0,3}\s{0,4}[:：=>]`;

/** The fields that restrict a skill, with the pattern by which a text mentions each. */
const RESTRICTIONS = Object.keys(FIELDS)
  .filter((name) => isFieldName(name))
  .filter((name) => fieldNamed(name).restricts === true)
  .map((field: FieldName) => {
    const spellings = [field, ...(fieldNamed(field).slips ?? [])];
    const words = spellings.map((spelling) => spelling.replaceAll("-", GAP)).join("|");
    return {
      field,
      // Excludes a longer key with the same ending: `disallowed-tools`.
      mention: new RegExp(String.raw`(?<!dis)(?:${words})${ENDS}`, "gi"),
      line: new RegExp(String.raw`${MARGIN}(?:${words})${ENDS}`, "gim"),
    };
  });

/** Occurs in every spelling of every restriction. */
const ANY = /tool|invo/i;

/** True for a restriction's key in any spelling. */
export function isRestriction(key: string): boolean {
  const field = fieldOf(key);
  return isFieldName(field) && fieldNamed(field).restricts === true;
}

/** True when a line of a text begins like a restriction, whatever marks are before its key. */
export function hasRestrictionLine(text: string): boolean {
  const plain = withPlainKeys(text);
  if (!ANY.test(plain)) return false;
  return RESTRICTIONS.some(({ line }) => plain.match(line) !== null);
}

/** A restriction below another field. */
export interface NestedRestriction {
  readonly field: FieldName;
  readonly path: readonly string[];
  readonly value: YamlValue;
}

const MAX_DEPTH = 6;

/** Returns the restrictions below other fields, where no client reads them: `metadata: {allowed-tools: Read}`. */
export function nestedRestrictions(values: YamlMapping): NestedRestriction[] {
  const found: NestedRestriction[] = [];
  const lookIn = (value: YamlValue | undefined, path: readonly string[]) => {
    if (path.length > MAX_DEPTH) return;
    if (Array.isArray(value)) for (const item of value) lookIn(item, path);
    if (!isMapping(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      const field = fieldOf(key);
      if (isFieldName(field) && isRestriction(field))
        found.push({ field, path: [...path, key], value: inner });
      else lookIn(inner, [...path, key]);
    }
  };
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === "object" && !isRestriction(key)) lookIn(value, [key]);
    // JSON as text is parsed elsewhere, too late for this check.
    if (typeof value !== "string" || fieldOf(key) !== "metadata") continue;
    for (const { field, mention } of RESTRICTIONS) {
      if (value.match(mention) !== null) found.push({ field, path: [key, field], value: null });
    }
  }
  return found;
}

/**
 * Marks as unreadable each restriction that a text mentions more often than it was read, so that its strictest reading
 * counts: a repair, a block of text or a wrong delimiter may have made it part of something else. In a text that is
 * `whole`, only lines that begin with one are mentions. True when there was one.
 */
export function restrictUnread(
  text: string,
  values: YamlMapping,
  { isWhole = false }: { isWhole?: boolean } = {},
): boolean {
  const plain = withPlainKeys(text);
  if (!ANY.test(plain)) return false;
  let nested: readonly NestedRestriction[] | null = null;
  let wasUnread = false;
  for (const { field, mention, line } of RESTRICTIONS) {
    const mentioned = plain.match(isWhole ? line : mention)?.length ?? 0;
    if (mentioned === 0) continue;
    const read = Object.keys(values).filter((key) => fieldOf(key) === field);
    nested ??= nestedRestrictions(values);
    const below = nested.filter((one) => one.field === field).length;
    if (mentioned <= read.length + below) continue;
    for (const key of read) values[key] = null;
    values[field] = null;
    wasUnread = true;
  }
  return wasUnread;
}
