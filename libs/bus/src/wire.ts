import { toJson, wellFormedJson } from "@switchyard/contracts/well-formed";
import type { z } from "zod";
import { cutText } from "@switchyard/contracts/cut-text";

/** The content of a reply's body. */
export type Reply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly data: unknown };

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly data: unknown;
}

export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

const MAX_PROBLEMS = 20;
const MAX_PROBLEM_LENGTH = 500;

/** JSON of a request or an event. `undefined` has no JSON and becomes `null`. */
export function encodeJson(value: unknown): string {
  return toJson(value) ?? "null";
}

/** The body of a reply that succeeded. A value without JSON is left out, and read as `undefined`. */
export function encodeValue(value: unknown): string {
  const text = toJson(value) as string | undefined;
  return text === undefined ? '{"ok":true}' : `{"ok":true,"value":${text}}`;
}

/** The body of a reply that failed; `data` is always present for clients in other languages, if need be as null. */
export function encodeFailure(failure: Failure): string {
  return encodeJson({
    ok: false,
    code: failure.code,
    message: failure.message,
    data: failure.data ?? null,
  });
}

/** Reads a reply, or returns null when the text is not one. */
export function decodeReply(text: string): Reply | null {
  const reply = parseObject(text);
  if (reply === null) return null;
  const { ok, value, code, message, data } = reply;
  if (ok === true) return { ok: true, value };
  if (ok !== false || typeof code !== "string" || typeof message !== "string") return null;
  return { ok: false, code, message, data: data ?? null };
}

/** Reads a JSON object, whose fields are still to be checked; null when the text is anything else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  const parsed = parseJson(text);
  if (!parsed.ok || typeof parsed.value !== "object") return null;
  return parsed.value as Readonly<Record<string, unknown>> | null; // what an object of JSON is
}

/** Parses JSON without throwing; texts become well-formed. `problem` names the place and never quotes the text. */
export function parseJson(text: string): Parsed {
  if (text === "") return { ok: false, problem: "the body is empty, JSON is expected" };
  try {
    return { ok: true, value: JSON.parse(wellFormedJson(text)) };
  } catch (error) {
    const position = /position (\d+)/.exec(String(error))?.[1];
    const where = position === undefined ? "" : ` at position ${position}`;
    return {
      ok: false,
      problem: `the body is not JSON: syntax error${where} of ${text.length} characters`,
    };
  }
}

/** One line per problem, `path: message`, at most 20. */
export function problemsOf(error: z.core.$ZodError): string[] {
  return error.issues.slice(0, MAX_PROBLEMS).map((issue) => {
    const path = issue.path.length === 0 ? "(root)" : issue.path.map(String).join(".");
    return cutText(`${path}: ${issue.message}`, MAX_PROBLEM_LENGTH);
  });
}

/** True when the text takes more than `limit` bytes as UTF-8. */
export function isLargerThan(text: string, limit: number): boolean {
  // A UTF-16 unit takes at most three bytes, so most texts need no count.
  return text.length * 3 > limit && Buffer.byteLength(text) > limit;
}
