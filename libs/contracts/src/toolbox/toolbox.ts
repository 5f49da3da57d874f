import { z } from "zod";
import { ApprovalId } from "../policy/approval-record.ts";
import { withoutAlias } from "./builtin-aliases.ts";
import { rpc } from "../define.ts";
import { CallerName, ToolName } from "../ids.ts";
import { ContentBlock, ValueProblem } from "../mcp-broker/mcp.ts";
import { CallId } from "../mcp-broker/mcp-calls.ts";
import { ApprovalTier } from "../policy/approval-tier.ts";
import { CALL_REFUSALS, InvalidToken } from "../policy/call-refusals.ts";
import { Decision } from "../policy/policy.ts";
import { StopInForce } from "../policy/policy-budgets.ts";
import { RunToken } from "../policy/run-token.ts";

/**
 * The built-in tools: files, commands, pages and memory. The toolbox is a tool provider like the MCP broker: it lists the tools that the
 * policy lets a principal call, and calls the policy before each call. Its tools have no server, so a rule or an agent selects them by
 * their bare names: `read_file`, `memory_*`.
 */

/** Every built-in tool, with its approval tier where no rule has another one [X14]. */
export const BUILTIN_TIERS = {
  // Platform tools: sessions and the agents that answer in them.
  sessions_list: "auto",
  sessions_history: "auto",
  session_status: "auto",
  agents_list: "auto",
  sessions_send: "session",
  sessions_spawn: "session",
  subagents: "auto",
  // Platform tools: messages to people.
  message_send: "session",
  message_reply: "session",
  message_thread_reply: "session",
  message_send_attachment: "session",
  message_send_with_effect: "session",
  message_broadcast: "session",
  message_react: "session",
  message_delete: "session",
  message_pin: "session",
  message_read: "auto",
  // Platform tools: scheduled jobs.
  cron_status: "auto",
  cron_list: "auto",
  cron_runs: "auto",
  cron_add: "session",
  cron_update: "session",
  cron_remove: "session",
  cron_run: "session",
  // Platform tools: the configuration files of the project.
  gateway_config_get: "auto",
  gateway_config_schema: "auto",
  gateway_config_apply: "always",
  gateway_config_patch: "always",
  gateway_restart: "always",
  // Files, commands, pages and memory.
  read_file: "auto",
  list_files: "auto",
  search_files: "auto",
  memory_read: "auto",
  write_file: "session",
  edit_file: "session",
  memory_write: "session",
  web_fetch: "session",
  execute_command: "always",
} as const satisfies Record<string, ApprovalTier>;
export type BuiltinName = keyof typeof BUILTIN_TIERS;

/** The built-in tools that are platform tools: those of OpenClaw's clients, for coding agents, too. */
export const PLATFORM_TOOLS = [
  "sessions_list",
  "sessions_history",
  "sessions_send",
  "sessions_spawn",
  "session_status",
  "agents_list",
  "subagents",
  "message_send",
  "message_reply",
  "message_thread_reply",
  "message_broadcast",
  "message_react",
  "message_delete",
  "message_send_attachment",
  "message_send_with_effect",
  "message_pin",
  "message_read",
  "cron_status",
  "cron_list",
  "cron_add",
  "cron_update",
  "cron_remove",
  "cron_run",
  "cron_runs",
  "gateway_restart",
  "gateway_config_get",
  "gateway_config_apply",
  "gateway_config_patch",
  "gateway_config_schema",
] as const satisfies readonly BuiltinName[];

/** The built-in tool of a name or an alias; null for anything else. */
export function builtinNamed(name: string): BuiltinName | null {
  const real = withoutAlias(name);
  // `hasOwn` has just shown that it is one of the keys.
  return Object.hasOwn(BUILTIN_TIERS, real) ? (real as BuiltinName) : null;
}

export const BuiltinInfo = z.object({
  name: ToolName,
  description: z.string(),
  /** JSON Schema. */
  inputSchema: z.looseObject({ type: z.literal("object") }),
  tier: ApprovalTier,
});
export type BuiltinInfo = z.infer<typeof BuiltinInfo>;

/** Marks a parameter that the client of a coding agent sets, such as the chat that the agent works in. */
export const SET_BY_CLIENT = "setByClient";

/** Returns the input schema without the parameters that a client sets: a model is not shown them. */
export function schemaForModels(
  inputSchema: BuiltinInfo["inputSchema"],
): BuiltinInfo["inputSchema"] {
  const { properties } = inputSchema;
  if (typeof properties !== "object" || properties === null) return inputSchema;
  const shown = Object.entries(properties).filter(
    ([, part]) => typeof part !== "object" || part === null || !(SET_BY_CLIENT in part),
  );
  return { ...inputSchema, properties: Object.fromEntries(shown) };
}

const PolicyUnavailable = { data: z.object({ cause: z.string() }), retryable: true };

export const listBuiltins = rpc({
  subject: "yard.rpc.{caller}.toolbox.tools",
  summary: "Lists the built-in tools that the policy lets the principal call.",
  role: "viewer",
  request: z.strictObject({ token: RunToken.optional() }),
  reply: z.object({ tools: z.array(BuiltinInfo) }),
  errors: {
    invalid_token: InvalidToken,
    policy_unavailable: PolicyUnavailable,
    /** An administrator stopped the run of the token, a run above it, its agent, its user, or everything. */
    run_stopped: { data: StopInForce },
  },
});

/** The longest that `execute_command` lets a command take, in milliseconds. */
export const MAX_COMMAND_MS = 600_000;
/** The timeout when the caller sets none. */
export const DEFAULT_COMMAND_MS = 30_000;
/** Extra time for the transport, and for ending a command that takes too long. */
const AROUND_MS = 5_000;

/** Returns the time a caller waits for a built-in tool, in milliseconds: for a command the time that it requests. */
export function builtinTimeoutMs(tool: string, args: Readonly<Record<string, unknown>>): number {
  if (builtinNamed(tool) === "sessions_send") {
    return sendTimeoutMs(args["timeoutSeconds"] ?? args["timeout"]);
  }
  if (builtinNamed(tool) !== "execute_command") return callBuiltin.timeoutMs;
  const { timeout } = args;
  const wanted = typeof timeout === "number" && timeout > 0 ? timeout : DEFAULT_COMMAND_MS;
  return Math.min(wanted, MAX_COMMAND_MS) + AROUND_MS;
}

/** The time for which the answer is awaited. */
function sendTimeoutMs(wanted: unknown): number {
  const seconds = typeof wanted === "number" && wanted > 0 ? wanted : DEFAULT_SEND_SECONDS;
  return Math.min(seconds, MAX_SEND_SECONDS) * 1_000 + AROUND_MS;
}

/** The time for which `sessions_send` waits for an answer, in seconds: at most, and by default. */
export const MAX_SEND_SECONDS = 300;
export const DEFAULT_SEND_SECONDS = 30;

export const callBuiltin = rpc({
  subject: "yard.rpc.{caller}.toolbox.call",
  summary: "Calls a built-in tool after the policy allowed exactly this call.",
  role: "operator",
  request: z.strictObject({
    /** Name or alias. */
    tool: z.string().min(1).max(512),
    args: z.record(z.string(), z.unknown()),
    token: RunToken.optional(),
    /** Makes the call effectively-once, as in `mcp.call`. */
    callId: CallId.optional(),
    /** Counts the pick-ups of the run whose token it is; trusted only with a token, and never lower than before. */
    epoch: z.int().positive().optional(),
    /** The approval that an earlier `approval_required` named; needed when there is no `callId`. */
    approvalId: ApprovalId.optional(),
  }),
  reply: z.object({
    content: z.array(ContentBlock),
    /** The result as data; absent when the tool failed. */
    structuredContent: z.unknown().optional(),
    /** The tool failed; `text` has the reason. A command that fails is not an error. */
    isError: z.boolean(),
    text: z.string(),
    decision: Decision,
    durationMs: z.number().nonnegative(),
    /** True when the result is the stored one of an earlier call with the same `callId`. */
    replayed: z.boolean(),
  }),
  errors: {
    ...CALL_REFUSALS,
    unknown_tool: { data: z.object({ tool: z.string(), known: z.array(z.string()) }) },
    /** The tool exists and cannot be used here; the message has the reason. Nothing was done. */
    tool_unavailable: { data: z.object({ tool: z.string(), known: z.array(z.string()) }) },
    /** The arguments do not fit the tool's input schema; nothing was done. Values are not repeated. */
    invalid_arguments: { data: z.object({ problems: z.array(ValueProblem) }) },
    policy_unavailable: PolicyUnavailable,
    /** Too many calls are in progress, over all or of this requester; nothing was done. */
    overloaded: { data: z.object({ limit: z.int() }), retryable: true },
    /** The store of call results does not answer; nothing was done. */
    call_store_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    call_id_conflict: { data: z.object({ callId: z.string() }) },
    /** Another runner has taken the run over since; nothing was done. */
    stale_epoch: { data: z.object({ runId: z.string(), epoch: z.int() }) },
    /** Ended by `toolbox.cancel`. When it was begun, it may have had its effect. */
    cancelled: { data: z.object({ callId: z.string(), sent: z.boolean() }) },
    /** The caller's time was over before the tool was done. It may have had its effect. */
    tool_timeout: { data: z.object({ timeoutMs: z.number() }) },
    /** The call was begun and its result was lost: it may or may not have happened. */
    outcome_unknown: { data: z.object({ callId: z.string().nullable() }) },
  },
  timeoutMs: 35_000,
});

export const cancelBuiltin = rpc({
  subject: "yard.rpc.{caller}.toolbox.cancel",
  summary: "Cancels a call of a built-in tool in progress, with the command that it runs.",
  role: "operator",
  request: z.strictObject({
    callId: CallId,
    /** The token of the run that made the call; another token than the call's own is checked. */
    token: RunToken.optional(),
  }),
  /** False when there is no such call of this caller and run in progress; other callers' calls are not revealed. */
  reply: z.object({ cancelled: z.boolean() }),
  errors: { invalid_token: InvalidToken, policy_unavailable: PolicyUnavailable },
});

/** Called between toolboxes only: the record of a call names the one that has it. */
export const cancelBuiltinAt = rpc({
  subject: "yard.rpc.{caller}.toolbox.cancel-at.{toolbox}",
  summary: "Between toolboxes: carries a cancellation to the one that has the call.",
  request: cancelBuiltin.request.extend({
    /** The original caller; the toolbox that passes the request on guarantees it. */
    onBehalfOf: CallerName,
  }),
  reply: cancelBuiltin.reply,
  errors: cancelBuiltin.errors,
});
