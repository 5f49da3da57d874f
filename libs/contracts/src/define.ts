import { z } from "zod";
import { cutText } from "./cut-text.ts";
import { problemText } from "./problem-text.ts";
import { REQUEST_LIMITS, type JsonLimits } from "./json-limits.ts";
import type { UserRole } from "./user-roles.ts";

/** Every process with contracts refuses values in the same words: in requests, events, configuration and files. */
z.config({ customError: problemText });

/**
 * A contract is the one definition of a subject, its schemas and its errors. Servers, clients, permissions, AsyncAPI and the subject table
 * are all derived from it.
 *
 * `{caller}` in a template is the NATS user's own name: the server's permissions let a user publish only under its own token, so a receiver
 * may trust it.
 */
type TokenNames<S extends string> = S extends `${string}{${infer Name}}${infer Rest}`
  ? Name | TokenNames<Rest>
  : never;

/** The values for the `{tokens}` of a subject template, by name. */
export type Tokens<S extends string> = { readonly [K in TokenNames<S>]: string };

/** A failure that a caller must be able to distinguish, with the schema of its data. */
export interface DeclaredError {
  readonly data: z.ZodType;
  /** True when sending the same request again later may succeed and cannot do harm. */
  readonly retryable?: boolean;
}

export type DeclaredErrors = Readonly<Record<string, DeclaredError>>;

/** Bytes beside the JSON of a request. */
export interface Attachment {
  readonly maxBytes: number;
  /** The field of the request that the attachment replaces; missing: there is none. */
  readonly field?: string;
}

export interface Rpc<
  S extends string = string,
  Req extends z.ZodType = z.ZodType,
  Rep extends z.ZodType = z.ZodType,
  Errs extends DeclaredErrors = DeclaredErrors,
> {
  readonly kind: "rpc";
  /** `{service}.{verb}`, or `{service}.{noun}.{verb}`: the subject's own words. Unique among all rpcs. */
  readonly name: string;
  readonly subject: S;
  readonly summary: string;
  /** The role that a person or program over HTTP needs to call it; null: it is for NATS users alone. */
  readonly role: UserRole | null;
  readonly request: Req;
  readonly reply: Rep;
  readonly errors: Errs;
  /** The time a caller waits when it sets no deadline of its own, in milliseconds. */
  readonly timeoutMs: number;
  /** The limits of the request's JSON. */
  readonly limits: JsonLimits;
  /** Bytes that may travel beside the request without being JSON, such as an archive; null: none may. */
  readonly attachment: Attachment | null;
}

export interface Command<S extends string = string, P extends z.ZodType = z.ZodType> {
  readonly kind: "command";
  /** `{noun}.{verb}`, unique among all commands. */
  readonly name: string;
  readonly subject: S;
  readonly summary: string;
  /** The same as for {@link Rpc}. */
  readonly role: UserRole | null;
  readonly payload: P;
  /** The limits of the payload's JSON. */
  readonly limits: JsonLimits;
}

export interface Event<S extends string = string, P extends z.ZodType = z.ZodType> {
  readonly kind: "event";
  /** `{noun}.{past-participle}`, unique among all events. */
  readonly name: string;
  readonly subject: S;
  readonly summary: string;
  readonly payload: P;
}

export interface Live<S extends string = string, P extends z.ZodType = z.ZodType> {
  readonly kind: "live";
  readonly name: string;
  readonly subject: S;
  readonly summary: string;
  readonly payload: P;
}

export type Contract = Rpc | Command | Event | Live;

const TOKEN = /^\{[a-zA-Z]+\}$/;
const LITERAL = /^[a-z0-9-]+$/;
const SAFE_TOKEN = /^[A-Za-z0-9_~-]{1,100}$/;
/** The allowed form of a token, for messages. */
export const TOKEN_RULE = "must be 1-100 characters of A-Z a-z 0-9 _ - ~";

/**
 * Declares a request-reply subject `yard.rpc.{caller}.{service}[.{noun}].{verb}[.{token}]`.
 * Throws when the subject does not have that shape, so a bad contract fails at start.
 */
export function rpc<
  const S extends string,
  Req extends z.ZodType,
  Rep extends z.ZodType,
  const Errs extends DeclaredErrors = Record<never, never>,
>(spec: {
  subject: S;
  summary: string;
  role?: UserRole;
  request: Req;
  reply: Rep;
  errors?: Errs;
  timeoutMs?: number;
  limits?: Partial<JsonLimits>;
  attachment?: Attachment;
}): Rpc<S, Req, Rep, Errs> {
  const [, , , ...words] = checkTemplate(spec.subject, ["yard", "rpc", "{caller}"]);
  return {
    kind: "rpc",
    name: words.filter((word) => !TOKEN.test(word)).join("."),
    subject: spec.subject,
    summary: spec.summary,
    role: spec.role ?? null,
    request: spec.request,
    reply: spec.reply,
    errors: spec.errors ?? ({} as Errs),
    timeoutMs: spec.timeoutMs ?? 5_000,
    limits: { ...REQUEST_LIMITS, ...spec.limits },
    attachment: spec.attachment ?? null,
  };
}

/** Declares a durable command `yard.cmd.{caller}.{noun}.{verb}[.{token}]`. */
export function command<const S extends string, P extends z.ZodType>(spec: {
  subject: S;
  summary: string;
  role?: UserRole;
  payload: P;
  limits?: Partial<JsonLimits>;
}): Command<S, P> {
  const [, , , noun, verb] = checkTemplate(spec.subject, ["yard", "cmd", "{caller}"]);
  const limits = { ...REQUEST_LIMITS, ...spec.limits };
  return { kind: "command", name: `${noun}.${verb}`, ...spec, role: spec.role ?? null, limits };
}

/** Declares a fact `yard.evt.{noun}[.{owner}].{id}.{past-participle}`. */
export function event<const S extends string, P extends z.ZodType>(spec: {
  subject: S;
  summary: string;
  payload: P;
}): Event<S, P> {
  const parts = checkTemplate(spec.subject, ["yard", "evt"]);
  return { kind: "event", name: `${parts[2]}.${parts.at(-1)}`, ...spec };
}

/** Declares a lossy subject of core NATS, `yard.live.{noun}[.{owner}].{id}`. */
export function live<const S extends string, P extends z.ZodType>(spec: {
  subject: S;
  summary: string;
  payload: P;
}): Live<S, P> {
  const [, , noun] = checkTemplate(spec.subject, ["yard", "live"]);
  return { kind: "live", name: `live.${noun}`, ...spec };
}

/**
 * The concrete subject of a contract. Throws on a token that is missing or that is not
 * 1–100 characters of `A-Z a-z 0-9 _ - ~`: a dot, a wildcard or a space would change the subject's meaning.
 */
export function subjectOf<S extends string>(
  contract: { readonly subject: S },
  tokens: Tokens<S>,
): string {
  const values: Readonly<Record<string, string | undefined>> = tokens;
  return templateOf(contract.subject)
    .map(({ text, token }) => (token === null ? text : checkToken(text, values[token])))
    .join(".");
}

/**
 * The subscription subject of a contract: every token that is not given becomes `*`.
 * Throws on an unsafe given token, like {@link subjectOf}.
 */
export function filterOf<S extends string>(
  contract: { readonly subject: S },
  tokens: Partial<Tokens<S>> = {},
): string {
  const values: Readonly<Record<string, string | undefined>> = tokens;
  return templateOf(contract.subject)
    .map(({ text, token }) => {
      if (token === null) return text;
      const value = values[token];
      return value === undefined ? "*" : checkToken(text, value);
    })
    .join(".");
}

/** Reads the tokens back from a concrete subject, or returns null when the subject is another contract's. */
export function tokensOf<S extends string>(
  contract: { readonly subject: S },
  subject: string,
): Tokens<S> | null {
  const template = templateOf(contract.subject);
  const parts = subject.split(".");
  if (template.length !== parts.length) return null;
  const found: Record<string, string> = {};
  let index = 0;
  for (const { text, token } of template) {
    const actual = parts[index] ?? "";
    if (token !== null) found[token] = actual;
    else if (text !== actual) return null;
    index += 1;
  }
  return found as Tokens<S>;
}

/** True when a value is valid as one token of a subject. */
export function isSubjectToken(value: string): boolean {
  return SAFE_TOKEN.test(value);
}

/** A word of a subject template, or one of its tokens. */
interface TemplatePart {
  readonly text: string;
  readonly token: string | null;
}

/** Each template is parsed once: there are as many as contracts, and a message is compared with several. */
const templates = new Map<string, readonly TemplatePart[]>();

function templateOf(subject: string): readonly TemplatePart[] {
  const known = templates.get(subject);
  if (known !== undefined) return known;
  const parts = subject
    .split(".")
    .map((text) => ({ text, token: TOKEN.test(text) ? text.slice(1, -1) : null }));
  templates.set(subject, parts);
  return parts;
}

function checkToken(part: string, value: string | undefined): string {
  if (value === undefined) throw new TypeError(`subject token ${part} is missing`);
  if (!SAFE_TOKEN.test(value)) {
    throw new TypeError(
      `subject token ${part} ${TOKEN_RULE}, got ${JSON.stringify(cutText(value, 80))}`,
    );
  }
  return value;
}

function checkTemplate(subject: string, prefix: readonly string[]): string[] {
  const parts = subject.split(".");
  const rightPrefix = prefix.every((expected, index) => parts[index] === expected);
  const rightParts = parts.every((part) => TOKEN.test(part) || LITERAL.test(part));
  if (!rightPrefix || !rightParts || parts.length <= prefix.length) {
    throw new TypeError(
      `subject template ${subject} must start with ${prefix.join(".")} and have only plain or {token} parts`,
    );
  }
  return parts;
}

/** The queue group of an rpc: one group for each service token, so replicas share the work. */
export function queueOf(contractName: string): string {
  return contractName.split(".")[0] ?? contractName;
}
