import { ProblemError } from "@switchyard/client/problem-error";
import type { Declaration } from "./server-declarations.ts";

/** A credential that the broker found written out, and the name under which it may be stored. */
export interface LiteralSecret {
  readonly field: string;
  readonly secret: string;
}

/** A declaration with references in the place of its credentials, and the values to store. */
export interface Extracted {
  readonly body: Declaration;
  readonly values: readonly { readonly name: string; readonly value: string }[];
}

/** The credentials that the broker refused; null for another error. */
export function literalFields(error: unknown): readonly LiteralSecret[] | null {
  if (!(error instanceof ProblemError) || error.problem.code !== "literal_secret") return null;
  const data: unknown = error.problem.data;
  const fields = typeof data === "object" && data !== null && "fields" in data ? data.fields : null;
  return Array.isArray(fields) ? (fields as LiteralSecret[]) : null; // as the contract says
}

const SCHEME = /^(?:bearer|basic|token)\s+/i;

/** Takes the credentials out of a declaration; null when one of them is not a member of an object in it, such as a part of an address. */
export function withReferences(
  body: Declaration,
  fields: readonly LiteralSecret[],
): Extracted | null {
  const values: { name: string; value: string }[] = [];
  const replaced = (key: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value;
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, replaced(name, inner)]),
      );
    const found = fields.find(({ field }) => field.slice(field.indexOf(".") + 1) === key);
    if (found === undefined || typeof value !== "string") return value;
    const [scheme = ""] = SCHEME.exec(value) ?? [];
    values.push({ name: found.secret, value: value.slice(scheme.length) });
    return `${scheme}\${secret:${found.secret}}`;
  };
  const members = Object.entries(body).map(([name, inner]) => [
    name,
    typeof inner === "object" ? replaced(name, inner) : inner,
  ]);
  const next: Declaration = { ...Object.fromEntries(members), id: body.id };
  return values.length < fields.length ? null : { body: next, values };
}
