import { z } from "zod";

type Json = Readonly<Record<string, unknown>>;

/** Members of a request's parameters that many clients write as `null` where they have none. */
const OPTIONAL: ReadonlySet<string> = new Set(["cursor", "arguments", "_meta", "context"]);

/** Returns the body of a request without optional members that are `null`, which the official SDK refuses. */
export function lenientBody(body: unknown): unknown {
  return Array.isArray(body) ? body.map(lenientMessage) : lenientMessage(body);
}

function lenientMessage(message: unknown): unknown {
  if (!isObject(message) || !("params" in message)) return message;
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isObject(params)) return message;
  const members = Object.entries(params);
  if (!members.some(isAbsent)) return message;
  return { ...message, params: Object.fromEntries(members.filter((one) => !isAbsent(one))) };
}

/** Sets the `Accept` header that the official SDK requires, for a client that accepts anything or sends no `Accept`. */
export function lenientRequest(request: Request): Request {
  const accept = request.headers.get("accept") ?? "*/*";
  if (!/(?:^|,)\s*\*\/\*/.test(accept)) return request;
  const headers = new Headers(request.headers);
  const isGet = request.method === "GET";
  headers.set("accept", isGet ? "text/event-stream" : "application/json, text/event-stream");
  const { method, signal, url } = request;
  return new Request(url, { method, headers, signal });
}

const Initialize = z.looseObject({
  protocolVersion: z.string(),
  capabilities: z.looseObject({}),
  clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
});

/**
 * Returns the problem of an `initialize` that the official SDK would mistake for another request, as a JSON-RPC error; null for
 * anything else.
 */
export function initializeError(body: unknown): object | null {
  if (!isObject(body) || body["method"] !== "initialize" || body["id"] === undefined) return null;
  const read = Initialize.safeParse(body["params"] ?? {});
  if (read.success) return null;
  const problems = read.error.issues.map(
    ({ path, message }) => `params${path.map((name) => `.${String(name)}`).join("")}: ${message}`,
  );
  const error = { code: -32_602, message: `initialize is not valid: ${problems.join("; ")}` };
  return { jsonrpc: "2.0", id: body["id"], error };
}

function isAbsent([name, value]: [string, unknown]): boolean {
  return value === null && OPTIONAL.has(name);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
