import type { z } from "zod";
import { cutText } from "./cut-text.ts";
import { nearestName } from "./nearest-name.ts";

type RawIssue = z.core.$ZodRawIssue;

/** Values and names that are listed at most in one text. */
const MOST_LISTED = 12;
const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  bigint: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  set: "a list",
  object: "an object",
  record: "an object",
  map: "an object",
  null: "null",
  date: "a date",
  nan: "not a number",
  never: "left out",
};
const FORMATS: Readonly<Record<string, string>> = {
  datetime: "a time such as 2026-11-27T12:00:00Z",
  date: "a date such as 2026-11-27",
  time: "a time such as 12:00:00",
  duration: "a duration such as PT5M",
  url: "a URL",
  email: "an e-mail address",
  uuid: "a UUID",
  base64: "base64",
  base64url: "base64url",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  cidrv4: "an IPv4 range such as 10.0.0.0/8",
  cidrv6: "an IPv6 range such as fd00::/8",
  json_string: "JSON",
  lowercase: "in lower case",
  uppercase: "in upper case",
};
const UNITS: Readonly<Record<string, readonly [one: string, more: string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
  set: ["entry", "entries"],
  object: ["field", "fields"],
  record: ["field", "fields"],
  map: ["field", "fields"],
  file: ["byte", "bytes"],
};

/**
 * Returns what is wrong with a value, for people, as it is shown behind the value's path: `input: is missing`. Undefined for a kind of
 * problem that has no text here. `define.ts` sets it in place of zod's own texts; the text of a schema itself counts first.
 */
export function problemText(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${typeText(issue.expected)}`;
    case "invalid_value":
      return valueText(issue.values, issue.input);
    case "too_small":
      return sizeText("at least", issue.minimum, issue);
    case "too_big":
      return sizeText("at most", issue.maximum, issue);
    case "invalid_format":
      return formatText(issue);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return unknownText(issue);
    case "invalid_union":
      return unionText(issue);
    case "invalid_key":
    case "invalid_element":
      return issue.issues.map(({ message }) => message).join(", ");
    default:
      return undefined;
  }
}

function typeText(expected: string): string {
  return TYPES[expected] ?? expected;
}

function valueText(values: readonly unknown[], input: unknown): string {
  if (input === undefined) return "is missing";
  const texts = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const isListed = texts.length <= MOST_LISTED;
  const meant = typeof input === "string" && !isListed ? nearestName(input, texts) : null;
  return `must be ${listOf(texts)}${meant === null ? "" : `; did you mean ${meant}?`}`;
}

function listOf(names: readonly string[]): string {
  const listed = names.slice(0, MOST_LISTED).map((name) => cutText(name, 100));
  const rest = names.length - listed.length;
  if (rest > 0) return `one of ${listed.join(", ")} and ${rest} others`;
  return listed.length > 1 ? `one of ${listed.join(", ")}` : listed.join("");
}

function sizeText(
  bound: "at least" | "at most",
  limit: number | bigint,
  {
    origin,
    inclusive = true,
    exact = false,
  }: { origin: string; inclusive?: boolean; exact?: boolean },
): string {
  const unit = UNITS[origin];
  if (unit === undefined) {
    if (inclusive) return `must be ${bound} ${limit}`;
    return `must be ${bound === "at least" ? "greater" : "less"} than ${limit}`;
  }
  const [one, more] = unit;
  if (bound === "at least" && limit === 1 && origin !== "object") return "must not be empty";
  return `must have ${exact ? "exactly" : bound} ${limit} ${Number(limit) === 1 ? one : more}`;
}

function formatText(issue: RawIssue & { readonly code: "invalid_format" }): string {
  const { format } = issue;
  if (format === "starts_with") return `must begin with ${String(issue["prefix"])}`;
  if (format === "ends_with") return `must end with ${String(issue["suffix"])}`;
  if (format === "includes") return `must contain ${String(issue["includes"])}`;
  if (format === "regex") return `must match ${String(issue["pattern"])}`;
  return `must be ${FORMATS[format] ?? format}`;
}

/** Names the fields that the object does not have, each with the one that is probably meant. */
function unknownText({ keys, inst }: RawIssue & { readonly code: "unrecognized_keys" }): string {
  // The schema is an object, or an intersection, which has no shape of its own.
  const { def = {} } = (inst ?? {}) as { readonly def?: { readonly shape?: object } };
  const { shape = {} } = def;
  return keys
    .slice(0, MOST_LISTED)
    .map((key) => `${cutText(key, 100)} ${unknownField(key, Object.keys(shape))}`)
    .join(", ");
}

/** Returns what is wrong with a field that an object does not have, with the one that is probably meant. */
export function unknownField(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known);
  return `is unknown${meant === null ? "" : `; did you mean ${meant}?`}`;
}

/** Names the types of a value that has none of them, or the problems of the form that is nearest to it. */
function unionText(issue: RawIssue & { readonly code: "invalid_union" }): string {
  const { input, discriminator } = issue;
  if (input === undefined) return "is missing";
  if (discriminator !== undefined) return `${discriminator} is not a known one`;
  const forms = issue.errors.filter((problems) => !problems.some(isOfWhole));
  const [nearest] = forms.toSorted((a, b) => a.length - b.length);
  if (nearest === undefined) {
    const texts = issue.errors.flat().map(({ message }) => message.replace(/^must be /, ""));
    return `must be ${[...new Set(texts)].join(" or ")}`;
  }
  return nearest
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")} ${message}`))
    .join(", ");
}

function isOfWhole({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}
