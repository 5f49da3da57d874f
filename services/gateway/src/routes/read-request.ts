import { createHash, randomUUID } from "node:crypto";
import { checkCounted } from "@switchyard/bus/bounded-json";
import { problemsOf } from "@switchyard/bus/wire";
import { cutText } from "@switchyard/contracts/cut-text";
import { isSubjectToken, TOKEN_RULE } from "@switchyard/contracts/define";
import { unknownField } from "@switchyard/contracts/problem-text";
import { Problem } from "../problems/problem.ts";
import { versionIn } from "./entity-tag.ts";
import { operationIdOf } from "./operation-id.ts";
import type { Body } from "./read-body.ts";
import { requestOf, VERSION_FIELD, type RouteShape, type Schema } from "./route-shape.ts";
import type { Route } from "./route-table.ts";

/** The unchecked parts of a request over HTTP. */
export interface Given {
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Pick<Body, "value" | "isLarge">;
  readonly idempotencyKey: string | undefined;
  readonly ifMatch: string | undefined;
  readonly caller: string;
}

export interface ContractRequest {
  readonly tokens: Readonly<Record<string, string>>;
  readonly request: unknown;
}

/** Builds the contract's request from an HTTP request. Throws a Problem that names the part which does not fit. */
export function readRequest(route: Route, shape: RouteShape, given: Given): ContractRequest {
  const { contract } = route;
  const values = bodyFields(route, given.body.value);
  const isKnown = (field: string): boolean =>
    Object.hasOwn(shape.fields, field) || shape.tokens.includes(field);
  const problems: string[] = [];
  const refuseUnknown = (name: string): void => {
    if (problems.length === MOST_PROBLEMS) return;
    problems.push(`${cutText(name, 100)}: ${unknownField(name, knownNames(route, shape))}`);
  };
  for (const field of Object.keys(values)) {
    if (isKnown(field)) continue;
    refuseUnknown(field);
    delete values[field];
  }
  for (const name of new Set(given.query.keys())) {
    const field = fieldOf(route, name);
    if (isKnown(field)) values[field] = fromText(given.query.getAll(name), shape.fields[field]);
    else refuseUnknown(name);
  }
  for (const [name, value] of Object.entries(given.path)) values[fieldOf(route, name)] = value;
  for (const [field, change] of Object.entries(route.texts ?? {})) {
    const text = values[field];
    if (typeof text === "string") values[field] = change(text);
  }
  for (const [field, value] of Object.entries(route.defaults ?? {})) values[field] ??= value;
  const { idempotent, isOnlyKeyed = false } = route;
  const isKeyed = given.idempotencyKey !== undefined;
  if (idempotent !== undefined && values[idempotent] === undefined && (isKeyed || !isOnlyKeyed))
    values[idempotent] = idFor(route, given);

  const tokens: Record<string, string> = {};
  for (const name of shape.tokens) {
    const value = values[name];
    if (typeof value === "string" && isSubjectToken(value)) tokens[name] = value;
    else problems.push(`${name}: ${value === undefined ? "is missing" : TOKEN_RULE}`);
    if (!Object.hasOwn(shape.fields, name)) delete values[name];
  }
  const version = given.ifMatch === undefined ? undefined : versionFor(route, shape, given.ifMatch);
  if (version !== undefined) values[VERSION_FIELD] = version;
  const parsed = checkCounted(requestOf(contract), values, given.body);
  if (parsed.success && problems.length === 0) return { tokens, request: values };
  const others = parsed.success
    ? []
    : problemsOf(parsed.error).map((text) => outerText(route, text));
  throw invalid(operationIdOf(route), [...problems, ...others].toSpliced(MOST_PROBLEMS));
}

/** Returns the request's field for a name in the path, the query or the body. */
function fieldOf({ names = {} }: Route, name: string): string {
  return Object.hasOwn(names, name) ? (names[name] ?? name) : name;
}

/** Returns the names of the fields in this route's spelling. */
function knownNames(route: Route, { fields, tokens }: RouteShape): string[] {
  const inner = new Map(Object.entries(route.names ?? {}).map(([outer, name]) => [name, outer]));
  return [...Object.keys(fields), ...tokens].map((name) => inner.get(name) ?? name);
}

/** Returns a problem of the request with its path as this route spells it; a field that is the whole body is not in the path. */
function outerText({ names = {}, body }: Route, text: string): string {
  const [, field = "", rest = ""] = /^([^.:]+)([.:][^]*)$/.exec(text) ?? [];
  if (field === body) return rest.startsWith(".") ? rest.slice(1) : `(body)${rest}`;
  const outer = Object.entries(names).find(([, inner]) => inner === field)?.[0];
  return outer === undefined ? text : `${outer}${rest}`;
}

/** Returns the fields of the body, under the names of the request. */
function bodyFields(route: Route, body: unknown): Record<string, unknown> {
  const { body: field, method, names = {} } = route;
  if (body === undefined) return field === undefined ? {} : { [field]: undefined };
  if (method === "get") throw invalid(operationIdOf(route), ["(body): a GET has none"]);
  if (field !== undefined) return { [field]: body };
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw invalid(operationIdOf(route), ["(body): must be a JSON object"]);
  // The value was parsed for this request alone, so it is used without a copy: copying many keys takes long.
  const values = body as Record<string, unknown>;
  for (const [name, inner] of Object.entries(names)) {
    if (!Object.hasOwn(values, name)) continue;
    values[inner] = values[name];
    delete values[name];
  }
  return values;
}

/** Parses the value of a query parameter; a value that cannot be parsed stays text, and the schema reports it. */
function fromText(texts: readonly string[], schema: Schema | undefined): unknown {
  const [text = ""] = texts;
  switch (schema?.type) {
    case "integer":
    case "number":
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    case "array":
      // A list whose elements may contain commas is sent as JSON.
      return text.startsWith("[") ? parsedOr(text) : texts.flatMap((one) => one.split(","));
    case "object":
      return parsedOr(text);
    case undefined:
      // The field has several types: only JSON can express a value that is not a string.
      return /^(?:[{[]|null$)/.test(text) && schema?.["anyOf"] !== undefined
        ? parsedOr(text)
        : text;
    default:
      return text;
  }
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const MOST_PROBLEMS = 20;
const KEY = /^[\x21-\x7e]{1,200}$/;

/** Requests of a caller with the same key are the same run or call. */
function idFor(route: Route, { idempotencyKey, caller }: Given): string {
  if (idempotencyKey === undefined) return randomUUID();
  if (!KEY.test(idempotencyKey))
    throw invalid(operationIdOf(route), ["Idempotency-Key: must be 1-200 visible characters"]);
  const text = `${route.contract.name}\n${caller}\n${idempotencyKey}`;
  return `i${createHash("sha256").update(text).digest("hex").slice(0, 40)}`;
}

/** A read ignores `If-Match`. A change that cannot honour it is refused. */
function versionFor(route: Route, { hasVersion }: RouteShape, ifMatch: string): string | undefined {
  if (route.method === "get" || ifMatch.trim() === "*") return undefined;
  if (!hasVersion)
    throw invalid(operationIdOf(route), [
      "If-Match: what this changes has no versions; leave it out",
    ]);
  const version = versionIn(ifMatch);
  if (version !== null) return version;
  throw invalid(operationIdOf(route), ["If-Match: must be one ETag as it was answered, in quotes"]);
}

function invalid(operation: string, problems: readonly string[]): Problem {
  const detail = `the request does not fit ${operation}: ${problems.join("; ")}`;
  return new Problem({ status: 400, code: "invalid_request", detail, data: { problems } });
}
