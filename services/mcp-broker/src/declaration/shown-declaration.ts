import { redactText } from "@switchyard/service/redact";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";

export const REDACTED = "[redacted]";

/** Wide on purpose: hiding a harmless value costs nothing. */
const SECRET_NAME =
  /auth|cookie|pass|secret|token|key|credential|seed|session|signature|dsn|private/i;

const REFERENCE = /\$\{(?:(?:env:)?[A-Za-z_]\w*|secret:[A-Za-z0-9][\w-]*)\}/g;
const SCHEME_ALONE = /^(?:bearer|basic|token|apikey)?$/i;

/**
 * A declaration as it may be shown: references stay, since they reveal nothing; a literal value under a name that looks secret,
 * and any text in the shape of a credential, is `[redacted]`.
 */
export function shownDeclaration(declaration: JsonRecord): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(declaration).map(([field, value]) => [field, shownField(field, value)]),
  );
}

/** Paths of values that are the placeholder: a client sends back a declaration as it was shown. */
export function placeholdersIn(value: unknown, path = ""): string[] {
  if (typeof value === "string") return value.includes(REDACTED) ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    placeholdersIn(inner, path === "" ? key : `${path}.${key}`),
  );
}

function shownField(field: string, value: unknown): unknown {
  if (typeof value === "string") return field === "url" ? shownUrl(value) : redactText(value);
  if (Array.isArray(value)) return shownArguments(value);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, shownNamed(name, inner)]),
  );
}

function shownNamed(name: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (!SECRET_NAME.test(name)) return redactText(value);
  return isOnlyReferences(value) ? value : REDACTED;
}

function isOnlyReferences(value: string): boolean {
  return SCHEME_ALONE.test(value.replaceAll(REFERENCE, "").trim());
}

/** `--token=x` and `--token x` on a command line. */
function shownArguments(args: readonly unknown[]): unknown[] {
  return args.map((arg, index) => {
    if (typeof arg !== "string") return arg;
    const [flag = "", ...rest] = arg.split("=");
    if (flag.startsWith("-") && rest.length > 0)
      return `${flag}=${String(shownNamed(flag, rest.join("=")))}`;
    const before = args[index - 1];
    const isValue = typeof before === "string" && /^-[^=]*$/.test(before) && !arg.startsWith("-");
    return isValue ? shownNamed(before, arg) : redactText(arg);
  });
}

function shownUrl(url: string): string {
  return redactText(url).replaceAll(
    /([?&])([^=&#]+)=([^&#]*)/g,
    (_all, mark: string, name: string, value: string) =>
      `${mark}${name}=${String(shownNamed(name, value))}`,
  );
}
