import { checkCounted } from "@switchyard/bus/bounded-json";
import { call } from "@switchyard/bus/call";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import {
  builtinNamed,
  builtinTimeoutMs,
  callBuiltin,
  listBuiltins,
} from "@switchyard/contracts/toolbox/toolbox";
import { claimSession, isUnconfirmed } from "@switchyard/contracts/agent-runner/session-claims";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import type { Context } from "hono";
import { z } from "zod";
import type { FollowParts } from "../agent-runs/follow-run.ts";
import { howToApprove } from "../agent-runs/run-wait.ts";
import { requesterOf, checkRights, type Requester } from "../identity/requester.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { bodyLimits, readBody } from "../routes/read-body.ts";

const BODY_LIMITS = bodyLimits(2 * 1024 * 1024);

const Invocation = z.looseObject({
  tool: z.string().min(1).max(512),
  action: z.string().max(512).optional(),
  args: z.record(z.string(), z.unknown()).default({}),
  dryRun: z.boolean().default(false),
  /** The session that the caller speaks in: tools about sessions and messages keep to what it may reach. */
  sessionKey: z.string().min(1).max(160).optional(),
  /** The id from an earlier answer that required an approval, once it is approved. */
  approvalId: z.string().optional(),
});

/** `POST /tools/invoke`, compatible with OpenClaw's clients: calls one tool by its name, under the policy of the caller. */
export async function serveToolsInvoke(
  c: Context<GatewayEnv>,
  parts: FollowParts,
): Promise<Response> {
  if (c.req.method !== "POST") {
    c.header("allow", "POST");
    return c.json(failed("method_not_allowed", "POST is the only method here"), 405);
  }
  const body = await readBody(c, BODY_LIMITS);
  const parsed = checkCounted(Invocation, body.value, body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const isTool = issue?.path[0] === undefined || issue.path[0] === "tool";
    const what = isTool
      ? "tools.invoke requires body.tool"
      : `${issue.path.join(".")}: ${issue.message}`;
    return c.json(failed("invalid_request", what), 400);
  }
  const { tool: name, action, args, dryRun, approvalId, sessionKey } = parsed.data;
  const requester = requesterOf(c, parts);
  const claimed = await tokenOf(
    requester,
    checkedClaims((header) => c.req.header(header), sessionKey),
  );
  if ("refusal" in claimed) return c.json(failed("false_claim", claimed.refusal), 403);
  const found = await find(requester, name, claimed);
  // Denied and unknown tools get the same answer: to a caller, a tool that it may not call does not exist.
  if (found === null) return c.json(failed("not_found", `Tool not available: ${name}`), 404);
  const named = action !== undefined && found.takesAction ? { ...args, action } : args;
  const claims = claimsOf((header) => c.req.header(header), sessionKey);
  const merged = withClaims(named, claims, found.parameters);
  if (dryRun) return c.json({ ok: true, result: { dryRun: true, tool: found.name, args: merged } });
  try {
    const { content, structuredContent, isError, text } = await invoke(parts, requester, {
      found,
      args: merged,
      approvalId,
      claimed,
    });
    if (isError) return c.json(failed("tool_error", text), 400);
    const details = structuredContent === undefined ? {} : { details: structuredContent };
    return c.json({ ok: true, result: { content, ...details } });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === "internal") throw error;
    if (["denied", "unknown_tool", "tool_unavailable"].includes(error.code))
      return c.json(failed("not_found", `Tool not available: ${name}`), 404);
    const { approvalId: waiting }: { approvalId?: unknown } = Object(error.data);
    const how = typeof waiting === "string" ? `; ${howToApprove(waiting)}` : "";
    const more = typeof waiting === "string" ? { approvalId: waiting } : {};
    return c.json(failed("tool_error", `${error.code}: ${error.message}${how}`, more), 400);
  }
}

interface Found {
  readonly name: string;
  /** Null for a built-in tool. */
  readonly server: string | null;
  readonly takesAction: boolean;
  readonly parameters: ReadonlySet<string>;
}

/** The token of true claims; empty where none is made, and where no record is about them. */
interface Claimed {
  readonly token?: string;
}

/** Has the claims checked against the record of the session [F39]; `refusal` has the reason why a claim does not hold. */
async function tokenOf(
  requester: Requester,
  claims: ReturnType<typeof checkedClaims>,
): Promise<Claimed | { readonly refusal: string }> {
  if (claims === null) return {};
  const checked = claimSession.request.safeParse(claims);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const isSession = issue?.path[0] === "session";
    return {
      refusal: isSession
        ? "claims are about a session: name it in sessionKey"
        : `${String(issue?.path[0])}: ${issue?.message}`,
    };
  }
  try {
    const { token } = await requester.ask(claimSession, checked.data);
    return { token };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (isUnconfirmed(checked.data, error.code)) return {};
    if (!FALSE.has(error.code)) throw error;
    return { refusal: error.message };
  }
}

const FALSE: ReadonlySet<string> = new Set([
  "false_claim",
  "unknown_session",
  "no_run",
  "claim_refused",
]);

async function find(requester: Requester, name: string, claimed: Claimed): Promise<Found | null> {
  if (builtinNamed(name) !== null) {
    if (!requester.may(callBuiltin)) return null;
    const { tools } = await requester.ask(listBuiltins, claimed);
    const tool = tools.find((one) => one.name === builtinNamed(name));
    if (tool === undefined) return null;
    const parameters = parametersOf(tool.inputSchema);
    return { name: tool.name, server: null, takesAction: parameters.has("action"), parameters };
  }
  if (!requester.may(callTool)) return null;
  const { tools } = await requester.ask(listTools, claimed);
  const tool = tools.find((one) => one.name === name || `${one.server}.${one.tool}` === name);
  if (tool === undefined) return null;
  const { server, inputSchema } = tool;
  // A claim is no argument of a tool of others.
  const takesAction = parametersOf(inputSchema).has("action");
  return { name: tool.name, server, takesAction, parameters: new Set() };
}

function parametersOf({ properties }: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  return new Set(Object.keys(typeof properties === "object" && properties ? properties : {}));
}

async function invoke(
  { bus }: FollowParts,
  requester: Requester,
  about: {
    found: Found;
    args: Record<string, unknown>;
    approvalId: string | undefined;
    claimed: Claimed;
  },
) {
  const { found, args, approvalId, claimed } = about;
  const { name: tool, server } = found;
  const user = await requester.user();
  checkRights(server === null ? callBuiltin : callTool, user);
  const request = { tool, args, ...claimed, ...(approvalId !== undefined && { approvalId }) };
  const options = { userToken: user.token, correlationId: requester.requestId };
  if (server !== null) return callMcpTool(bus, request, { ...options, tokens: { server } });
  const timeoutMs = builtinTimeoutMs(tool, args);
  return call(bus, callBuiltin, request, { ...options, timeoutMs });
}

function failed(type: string, message: string, more: Record<string, unknown> = {}) {
  return { ok: false, error: { type, message, ...more } };
}

/** Headers of OpenClaw's clients, with the parameters of platform tools that they set. Each is also read with `x-switchyard-`. */
const HEADERS = {
  "message-channel": "originChannel",
  "account-id": "originAccountId",
  "message-to": "originTo",
  "thread-id": "originThreadId",
} as const;
const PREFIXES = ["x-openclaw-", "x-switchyard-"] as const;

/**
 * Returns what a caller claims about the session and the chat that it works in. The claims can only narrow: a caller without any reaches all
 * sessions and chats of its user.
 */
export function claimsOf(
  header: (name: string) => string | undefined,
  sessionKey: string | undefined,
): Record<string, string> {
  const chat = Object.entries(HEADERS).flatMap(([name, parameter]) => {
    const value = PREFIXES.map((prefix) => header(prefix + name)).find((one) => one !== undefined);
    return value === undefined ? [] : [[parameter, value] as const];
  });
  return {
    ...Object.fromEntries(chat),
    ...(sessionKey !== undefined && { callerSession: sessionKey }),
  };
}

/** Returns the arguments with the claims that the tool has parameters for; they replace what the arguments state. */
export function withClaims(
  args: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, string>>,
  parameters: ReadonlySet<string>,
): Record<string, unknown> {
  const known = Object.entries(claims).filter(([name]) => parameters.has(name));
  return { ...args, ...Object.fromEntries(known) };
}

/** Headers with claims that the record of the session has to confirm, by the fields of `sessions.claim`. */
const CHECKED = { "agent-id": "agent", "group-id": "group", depth: "depth" } as const;

/**
 * Returns the claims for `sessions.claim`; null when none is made. A channel without a session claims no rights, since no record is about it; it
 * narrows as above.
 */
export function checkedClaims(
  header: (name: string) => string | undefined,
  sessionKey: string | undefined,
): Readonly<Record<string, unknown>> | null {
  const read = (name: string): string | undefined =>
    PREFIXES.map((prefix) => header(prefix + name)).find((one) => one !== undefined);
  const claims = Object.entries(CHECKED).flatMap(([name, field]) => {
    const value = read(name);
    if (value === undefined) return [];
    return [[field, field === "depth" ? Number(value) : value] as const];
  });
  if (claims.length === 0 && sessionKey === undefined) return null;
  const channel = read("message-channel");
  return {
    ...Object.fromEntries(claims),
    ...(channel !== undefined && { channel }),
    ...(sessionKey !== undefined && { session: sessionKey }),
  };
}
