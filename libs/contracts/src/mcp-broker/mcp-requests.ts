import { z } from "zod";
import { isRecord, type JsonRecord } from "../json-record.ts";

/** Members of a request's parameters that many clients write as `null` where they have none. */
const OPTIONAL: ReadonlySet<string> = new Set(["cursor", "arguments", "_meta", "context"]);

/**
 * Returns the JSON-RPC messages of an MCP client without optional members that are `null`, which the official SDK refuses. A message without
 * such a member is returned itself.
 */
export function lenientMessages(messages: unknown): unknown {
  return Array.isArray(messages) ? messages.map(lenientMessage) : lenientMessage(messages);
}

function lenientMessage(message: unknown): unknown {
  if (!isRecord(message) || !("params" in message)) return message;
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isRecord(params)) return message;
  const members = Object.entries(params);
  if (!members.some(isAbsent)) return message;
  return { ...message, params: Object.fromEntries(members.filter((one) => !isAbsent(one))) };
}

const List = z.looseObject({ cursor: z.string().optional() });

/** The members of parameters that a method cannot do without, and those whose type a client may mistake. */
const PARAMS: Readonly<Record<string, z.ZodType>> = {
  initialize: z.looseObject({
    protocolVersion: z.string(),
    capabilities: z.looseObject({}),
    clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
  }),
  "tools/list": List,
  "resources/list": List,
  "resources/templates/list": List,
  "prompts/list": List,
  "tools/call": z.looseObject({
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()).optional(),
  }),
  "resources/read": z.looseObject({ uri: z.string() }),
  "prompts/get": z.looseObject({
    name: z.string(),
    arguments: z.record(z.string(), z.string()).optional(),
  }),
};

/**
 * Returns the JSON-RPC error (-32602) for a request of an MCP client whose parameters do not fit its method, with a sentence that names each
 * member; null for anything else. The official SDK would reply with a validator's report, or mistake an `initialize` for another request.
 */
export function invalidParams(message: unknown): JsonRecord | null {
  if (!isRecord(message) || message["id"] === undefined) return null;
  const method = String(message["method"]);
  const schema = Object.hasOwn(PARAMS, method) ? PARAMS[method] : undefined;
  const read = schema?.safeParse(message["params"] ?? {});
  if (read === undefined || read.success) return null;
  const problems = read.error.issues.map(
    ({ path, message: text }) =>
      `params${path.map((name) => `.${String(name)}`).join("")}: ${text}`,
  );
  const error = { code: -32_602, message: `${method} is not valid: ${problems.join("; ")}` };
  return { jsonrpc: "2.0", id: message["id"], error };
}

function isAbsent([name, value]: [string, unknown]): boolean {
  return value === null && OPTIONAL.has(name);
}
