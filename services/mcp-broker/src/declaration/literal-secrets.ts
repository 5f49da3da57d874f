import { cutText } from "@switchyard/contracts/cut-text";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { findSecrets } from "@switchyard/service/inspect/secret-shapes";
import { isSecretKey, redactText } from "@switchyard/service/redact";

/** A credential that is written out in a declaration. */
export interface LiteralSecret {
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
export function literalSecrets(declaration: JsonRecord): LiteralSecret[] {
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
