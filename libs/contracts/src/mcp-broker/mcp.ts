import { z } from "zod";
import { ServerStatus } from "./mcp-servers.ts";
import { ApprovalId } from "../policy/approval-record.ts";
import { rpc } from "../define.ts";
import { Digest, ServerId, Timestamp, ToolName } from "../ids.ts";
import { CallId, ProgressId } from "./mcp-calls.ts";
import { PinState, ToolFinding } from "./mcp-pins.ts";
import { CALL_REFUSALS, InvalidToken } from "../policy/call-refusals.ts";
import { Decision } from "../policy/policy.ts";
import { StopInForce } from "../policy/policy-budgets.ts";
import { RunToken } from "../policy/run-token.ts";

export const ToolInfo = z.object({
  /** Canonical name, see `tool-names.ts`. */
  name: ToolName,
  server: ServerId,
  /** The server's own name of the tool. */
  tool: z.string(),
  description: z.string(),
  /** JSON Schema in a form that MCP clients accept; the pin covers the schema that the server sent. */
  inputSchema: z.looseObject({ type: z.literal("object") }),
  /**
   * The other members of the definition, such as `title`, `annotations`, `outputSchema`, `icons`, `execution`, `_meta` and those that
   * MCP does not define. Missing: the tool has none, or the broker is an older one.
   */
  definition: z.record(z.string(), z.unknown()).optional(),
  /** The digest of the definition, see `mcp-pins.ts`; missing from an older broker. */
  pin: Digest.optional(),
  /** Present only when they were requested. */
  findings: z.array(ToolFinding).optional(),
});
export type ToolInfo = z.infer<typeof ToolInfo>;

/** A content block of an MCP result, passed on whole: https://modelcontextprotocol.io/specification. */
export const ContentBlock = z.looseObject({ type: z.string() });
export type ContentBlock = z.infer<typeof ContentBlock>;

/** `_meta` of a result: https://modelcontextprotocol.io/specification/2025-11-25/basic#meta. */
export const ResultMeta = z.record(z.string(), z.unknown());

/** The most characters of a call's metadata, which no policy evaluates. */
export const MAX_CALL_META = 16_384;
export const CallMeta = z
  .record(z.string().max(512), z.unknown())
  .refine((meta) => JSON.stringify(meta).length <= MAX_CALL_META, {
    message: `has more than ${MAX_CALL_META} characters as JSON`,
  });

/** The metadata without the keys that MCP and W3C trace context reserve, which each hop sets itself; undefined when nothing is left. */
export function ownCallMeta(
  meta: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> | undefined {
  const own = Object.entries(meta ?? {}).filter(([key]) => !RESERVED_META.test(key));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}
const RESERVED_META =
  /^(?:progressToken|traceparent|tracestate|baggage|(?:[^/]+\.)?(?:modelcontextprotocol|mcp)(?:\.[^/]*)?\/.*)$/;

/** The position at which a value does not fit its schema, as a JSON pointer, and the expected type. */
export const ValueProblem = z.object({ pointer: z.string(), expected: z.string() });
export type ValueProblem = z.infer<typeof ValueProblem>;

export const listTools = rpc({
  subject: "yard.rpc.{caller}.mcp.tools",
  summary: "Lists the tools of connected servers that the policy lets the principal call.",
  role: "viewer",
  request: z.strictObject({
    server: ServerId.optional(),
    token: RunToken.optional(),
    /** Adds the findings about each definition. */
    findings: z.boolean().optional(),
  }),
  reply: z.object({
    tools: z.array(ToolInfo),
    /** Enabled servers whose tools are missing from the list, and why. */
    failures: z.array(z.object({ server: ServerId, status: ServerStatus, error: z.string() })),
    /** For a request that names a server: the server's instructions to a model, when the principal may call a tool of it. */
    instructions: z.string().optional(),
  }),
  errors: {
    invalid_token: InvalidToken,
    unknown_server: { data: z.object({ server: z.string() }) },
    policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    /** An administrator stopped the run of the token, a run above it, its agent, its user, or everything. */
    run_stopped: { data: StopInForce },
  },
  timeoutMs: 10_000,
});

/** A tool call. Served on one subject per server, so NATS routes it to the broker that keeps the connection. */
export const callTool = rpc({
  subject: "yard.rpc.{caller}.mcp.call.{server}",
  summary: "Calls a tool of an MCP server after the policy allowed exactly this call.",
  role: "operator",
  request: z.strictObject({
    /** Canonical name or the server's own name. */
    tool: z.string().min(1).max(512),
    args: z.record(z.string(), z.unknown()),
    token: RunToken.optional(),
    /**
     * Makes the call effectively-once: a repeated id gets the stored result of the first call.
     * It is bound to the caller, the tool and the arguments; another call under the same id is refused.
     */
    callId: CallId.optional(),
    /** The approval that an earlier `approval_required` named; needed when there is no `callId`. */
    approvalId: ApprovalId.optional(),
    /** Requests the call's progress on `yard.live.mcp.{owner}.{progress}`. */
    progress: ProgressId.optional(),
    /** Metadata of the client for the server, beside the arguments; keys that MCP reserves are the broker's own. */
    _meta: CallMeta.optional(),
    /** Counts the pick-ups of the run whose token it is; trusted only with a token, and never lower than before. */
    epoch: z.int().positive().optional(),
  }),
  reply: z.object({
    content: z.array(ContentBlock),
    structuredContent: z.unknown().optional(),
    /** The result's own metadata, as the server sent it. */
    _meta: ResultMeta.optional(),
    isError: z.boolean(),
    /** The text form of the result that an agent observes. */
    text: z.string(),
    decision: Decision,
    /** Time the server took, in milliseconds; of the first call when the result is replayed. */
    durationMs: z.number().nonnegative(),
    /** True when the result is the stored one of an earlier call with the same `callId`. */
    replayed: z.boolean(),
  }),
  errors: {
    ...CALL_REFUSALS,
    unknown_tool: { data: z.object({ server: z.string(), tool: z.string() }) },
    server_down: {
      data: z.object({
        server: z.string(),
        status: ServerStatus,
        lastError: z.string().nullable(),
        /** The broker is reconnecting it: the call is worth retrying within its time. */
        isReturning: z.boolean().optional(),
      }),
      retryable: true,
    },
    server_overloaded: {
      data: z.object({ server: z.string(), inFlight: z.int(), queued: z.int() }),
      retryable: true,
    },
    /** The broker no longer owns the server; nothing was sent. `mcp.ensure` finds or makes an owner. */
    not_owner: { data: z.object({ server: z.string() }), retryable: true },
    /** Each run or session has an instance of this server, and the call belongs to none. */
    scope_required: { data: z.object({ server: z.string(), scope: z.string() }) },
    /** The server's limit of instances is reached by other runs or sessions. */
    instances_exhausted: {
      data: z.object({ server: z.string(), scope: z.string(), limit: z.int() }),
      retryable: true,
    },
    policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    /** The store of call results does not answer; nothing was sent. */
    call_store_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    /** The tool differs from its approved definition, or was never approved; nothing was sent. */
    tool_not_approved: {
      data: z.object({ server: z.string(), tool: z.string(), state: PinState }),
    },
    /** The arguments do not fit the tool's input schema; nothing was sent. Values are not repeated. */
    invalid_arguments: { data: z.object({ problems: z.array(ValueProblem) }) },
    /** The tool ran, and its structured result does not fit its own output schema; the rest of it is here. */
    invalid_result: {
      data: z.object({
        problems: z.array(ValueProblem),
        content: z.array(ContentBlock),
        structuredContent: z.unknown().optional(),
        _meta: ResultMeta.optional(),
        text: z.string(),
      }),
    },
    tool_timeout: { data: z.object({ timeoutMs: z.number() }) },
    tool_failed: { data: z.object({ reason: z.string() }) },
    result_too_large: { data: z.object({ bytes: z.int(), limitBytes: z.int() }) },
    call_id_conflict: { data: z.object({ callId: z.string() }) },
    /** Another runner has taken the run over since; nothing was sent. */
    stale_epoch: { data: z.object({ runId: z.string(), epoch: z.int() }) },
    /**
     * The server wants a person to open an address before it makes the call, which it did not. Each
     * question has one; when they are answered the call may be sent again, with the same `callId`.
     */
    question_pending: {
      data: z.object({
        server: z.string(),
        questionIds: z.array(z.string()).min(1),
        expiresAt: Timestamp.nullable(),
      }),
    },
    /** The server failed repeatedly and gets no calls until it recovers; nothing was sent. */
    circuit_open: {
      data: z.object({ server: z.string(), retryAfterMs: z.int().nonnegative() }),
      retryable: true,
    },
    /** Ended by `mcp.cancel`. When it was sent, it may have had its effect. */
    cancelled: { data: z.object({ callId: z.string(), sent: z.boolean() }) },
    /** The call was sent and its result was lost: it may or may not have happened. */
    outcome_unknown: { data: z.object({ callId: z.string().nullable() }) },
  },
  timeoutMs: 35_000,
});
