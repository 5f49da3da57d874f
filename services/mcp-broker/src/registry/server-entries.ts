import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  addServer,
  updateServer,
  type ServerDeclaration,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { readDeclaration } from "@switchyard/project/mcp-servers/read-declaration";
import type { ServerEntry } from "@switchyard/project/mcp-servers/server-config";
import { cutText } from "@switchyard/contracts/cut-text";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { findSecrets } from "@switchyard/service/inspect/secret-shapes";
import { isSecretKey, redactText } from "@switchyard/service/redact";
import { placeholdersIn, REDACTED } from "../declaration/shown-declaration.ts";
import type { RegistryRecord } from "./registry-store.ts";

const fail = failuresOf({ ...addServer.errors, ...updateServer.errors });

/** The declared servers: the file's, overridden by the changes that were made over the bus. */
export function mergedEntries(
  file: readonly ServerEntry[],
  records: ReadonlyMap<string, RegistryRecord>,
): ServerEntry[] {
  const fromFile = file.filter(({ id }) => !records.has(id));
  const inFile = new Set(file.map(({ id }) => id));
  const fromApi = [...records].flatMap(([id, record]) =>
    record.state === "set"
      ? [
          {
            ...warned(readDeclaration(id, record.declaration, "api"), record.warnings),
            overridesFile: inFile.has(id),
          },
        ]
      : [],
  );
  return [...fromFile, ...fromApi];
}

/** An entry with warnings of its declaration before those that it has. */
export function warned<T extends ServerEntry>(entry: T, warnings: readonly string[] = []): T {
  return { ...entry, warnings: [...new Set([...warnings, ...entry.warnings])] };
}

/** Checks a declaration from the bus and returns its entry. Throws `invalid_config` with all that is wrong. */
export function checked(id: string, declaration: ServerDeclaration): ServerEntry {
  const { problems, ...entry } = readDeclaration(id, declaration, "api");
  const placeholders = placeholdersIn(declaration).map(
    (path) => `"${path}" is ${REDACTED}, which only stands for a value when one is shown`,
  );
  const all = [...problems, ...placeholders];
  if (all.length > 0) throw invalid(all);
  return entry;
}

/** Throws `literal_secret` for a declaration with a credential that is written out. */
export function refuseLiteralSecrets(declaration: ServerDeclaration): void {
  const fields = literalSecrets(declaration);
  const [first] = fields;
  if (first === undefined) return;
  const where = fields.map(({ field }) => `"${field}"`).join(", ");
  throw fail.literal_secret(
    `${where} is written out as a credential, so nothing was changed. Store it (yard mcp secret set ${first.secret}) and write \${secret:${first.secret}} in its place.`,
    { fields },
  );
}

export function invalid(problems: string[]) {
  return fail.invalid_config(problems.join("; "), { problems });
}

/** True when both describe the same server with the same warnings. */
export function isSameEntry(one: ServerEntry | undefined, other: ServerEntry): boolean {
  return one !== undefined && digestOf(one) === digestOf(other);
}

function digestOf(entry: ServerEntry): string {
  const { declaration, problem, warnings, origin, overridesFile = false } = entry;
  return canonicalDigest([declaration, problem, warnings, origin, overridesFile]);
}

export function byId(entries: readonly ServerEntry[]): ReadonlyMap<string, ServerEntry> {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

/** A credential that is written out in a declaration. */
interface LiteralSecret {
  /** Such as `env.GITHUB_TOKEN`. */
  readonly field: string;
  /** A name under which it may be stored. */
  readonly secret: string;
}

const REFERENCE = /\$\{[^{}]*\}/g;
/** A name of a field alone makes a value a credential when it has some length and is no path, address or number. */
const MIN_LENGTH = 8;
const NO_CREDENTIAL = /^(?:[a-z][a-z0-9+.-]*:\/\/|[./~\\]|[a-z]:\\|\d+$)/i;
const RECORDS = new Set(["env", "headers", "oauth"]);
const MAX_NAME = 64;

/**
 * Finds credentials that are written out in a declaration: values in the shape of one anywhere, and values under the name of one in
 * `env`, `headers` and `oauth`. A reference is none.
 */
function literalSecrets(declaration: JsonRecord): LiteralSecret[] {
  const { id } = declaration;
  const server = typeof id === "string" ? id : "server";
  return Object.entries(declaration).flatMap(([field, value]) => {
    if (RECORDS.has(field) && isRecord(value))
      return Object.entries(value).flatMap(([name, inner]) =>
        isCredential(name, inner)
          ? [{ field: `${field}.${name}`, secret: secretName(server, name) }]
          : [],
      );
    const texts = Array.isArray(value) ? value : [value];
    return texts.some((text) => hasShape(text))
      ? [{ field, secret: secretName(server, field) }]
      : [];
  });
}

function isCredential(name: string, value: unknown): boolean {
  if (typeof value !== "string") return false;
  if (hasShape(value)) return true;
  const literal = value
    .replaceAll(REFERENCE, "")
    .replace(/^(?:bearer|basic|token)\s+/i, "")
    .trim();
  return isSecretKey(name) && literal.length >= MIN_LENGTH && !NO_CREDENTIAL.test(literal);
}

function hasShape(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const literal = value.replaceAll(REFERENCE, "");
  return findSecrets(literal).length > 0 || redactText(literal) !== literal;
}

function secretName(server: string, name: string): string {
  const own = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return cutText(`${server}-${own}`, MAX_NAME);
}
