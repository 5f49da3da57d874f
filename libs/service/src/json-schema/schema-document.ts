import { locate, parsePointer } from "@switchyard/contracts/json-pointer";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";

/** The rules that a schema is written by. A schema without `$schema` is 2020-12, as MCP specifies. */
export interface Dialect {
  readonly isDraft7: boolean;
  readonly isKnown: boolean;
}

export function dialectOf(root: JsonRecord): Dialect {
  const declared = root["$schema"];
  if (declared === undefined) return { isDraft7: false, isKnown: true };
  const name =
    /^https?:\/\/json-schema\.org\/(draft(?:-0[467]|\/2019-09|\/2020-12))\/schema#?$/.exec(
      typeof declared === "string" ? declared : "",
    )?.[1];
  return { isDraft7: name?.startsWith("draft-0") ?? false, isKnown: name !== undefined };
}

/** A subschema that a local reference names, or why there is none. Nothing is ever fetched. */
export function resolveReference(
  root: JsonRecord,
  reference: unknown,
): { readonly target: JsonRecord | boolean } | { readonly problem: string } {
  if (typeof reference !== "string") return { problem: "$ref is not a string" };
  if (!reference.startsWith("#")) return { problem: "$ref leads out of the schema" };
  const tokens = parsePointer(decoded(reference.slice(1)));
  if (tokens === null) return { problem: "$ref is not valid JSON pointer" };
  const found = locate(root, tokens);
  if (found.kind !== "found") return { problem: "$ref names nothing" };
  const { value } = found;
  if (typeof value === "boolean" || isRecord(value)) return { target: value };
  return { problem: "$ref names no schema" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "not a pointer";
  }
}
