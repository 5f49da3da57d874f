import { z } from "zod";
import { ApprovalId, ApprovalRequired } from "./approvals.ts";
import { event, rpc } from "./define.ts";
import { CallerName, Digest, ServerId, Timestamp, ToolName } from "./ids.ts";
import { CallId, CircuitState, ProgressId } from "./mcp-calls.ts";
import { PinState, ToolFinding } from "./mcp-pins.ts";
import { Decision } from "./policy.ts";
import { StopScope } from "./policy-budgets.ts";
import { RunToken } from "./run-token.ts";

export const ServerStatus = z.enum([
  "connecting",
  "connected",
  "disconnected",
  "error",
  "disabled",
]);
export type ServerStatus = z.infer<typeof ServerStatus>;

export const TransportKind = z.enum(["stdio", "http", "sse"]);
export type TransportKind = z.infer<typeof TransportKind>;

/** Who says what a server is: the broker's file, or the rpcs below. */
export const ServerOrigin = z.enum(["file", "api"]);
export type ServerOrigin = z.infer<typeof ServerOrigin>;

export const ServerInfo = z.object({
  id: ServerId,
  name: z.string(),
  origin: ServerOrigin.default("file"),
  transport: TransportKind,
  status: ServerStatus,
  toolCount: z.int().nonnegative(),
  /** Name and version that the server gave of itself. */
  serverVersion: z.string().nullable(),
  protocolVersion: z.string().nullable(),
  lastError: z.string().nullable(),
  connectedAt: Timestamp.nullable(),
  /** The broker that has its lease; null while none has. An older broker does not say. */
  owner: z.string().nullable().optional(),
  /** Whether calls reach it; an older broker does not say. */
  circuit: CircuitState.optional(),
});
export type ServerInfo = z.infer<typeof ServerInfo>;

export const ToolInfo = z.object({
  /** Canonical name, see `tool-names.ts`. */
  name: ToolName,
  server: ServerId,
  /** The server's own name of the tool. */
  tool: z.string(),
  description: z.string(),
  /** JSON Schema, as the server sent it. */
  inputSchema: z.looseObject({ type: z.literal("object") }),
  /** Of the definition, see `mcp-pins.ts`; an older broker does not say. */
  pin: Digest.optional(),
  /** Only when they were asked for. */
  findings: z.array(ToolFinding).optional(),
});
export type ToolInfo = z.infer<typeof ToolInfo>;

/** A content block of an MCP result, passed on whole: https://modelcontextprotocol.io/specification. */
export const ContentBlock = z.looseObject({ type: z.string() });
export type ContentBlock = z.infer<typeof ContentBlock>;

/** Where a value does not fit its schema, as a JSON pointer, and what was expected there. */
export const ValueProblem = z.object({ pointer: z.string(), expected: z.string() });
export type ValueProblem = z.infer<typeof ValueProblem>;

const InvalidToken = { data: z.object({ reason: z.string() }) };

export const listServers = rpc({
  subject: "yard.rpc.{caller}.mcp.servers",
  summary: "Lists the configured MCP servers with their true status.",
  request: z.strictObject({}),
  reply: z.object({ servers: z.array(ServerInfo) }),
});

export const listTools = rpc({
  subject: "yard.rpc.{caller}.mcp.tools",
  summary: "Lists the tools of connected servers that the policy lets the principal call.",
  request: z.strictObject({
    server: ServerId.optional(),
    token: RunToken.optional(),
    /** Adds what is remarkable about each definition. */
    findings: z.boolean().optional(),
  }),
  reply: z.object({
    tools: z.array(ToolInfo),
    /** Enabled servers whose tools are missing from the list, and why. */
    failures: z.array(z.object({ server: ServerId, status: ServerStatus, error: z.string() })),
  }),
  errors: {
    invalid_token: InvalidToken,
    unknown_server: { data: z.object({ server: z.string() }) },
    policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
  },
  timeoutMs: 10_000,
});

/** A tool call. Served on one subject per server, so NATS routes it to the broker that keeps the connection. */
export const callTool = rpc({
  subject: "yard.rpc.{caller}.mcp.call.{server}",
  summary: "Calls a tool of an MCP server after the policy allowed exactly this call.",
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
    /** The approval that an earlier `approval_required` told of; needed when there is no `callId`. */
    approvalId: ApprovalId.optional(),
    /** Asks for the call's progress on `yard.live.mcp.{caller}.{progress}`. */
    progress: ProgressId.optional(),
    /** Counts the pick-ups of the run whose token it is; believed only with a token, and never lower than before. */
    epoch: z.int().positive().optional(),
  }),
  reply: z.object({
    content: z.array(ContentBlock),
    structuredContent: z.unknown().optional(),
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
    denied: { data: Decision },
    /** The policy asks a person first; nothing was sent. Once it is approved, send the same call again. */
    approval_required: { data: ApprovalRequired },
    /** An administrator stopped such calls while it was in work: it may have had its effect. */
    stopped: { data: z.object({ scope: StopScope }) },
    invalid_token: InvalidToken,
    unknown_tool: { data: z.object({ server: z.string(), tool: z.string() }) },
    server_down: {
      data: z.object({
        server: z.string(),
        status: ServerStatus,
        lastError: z.string().nullable(),
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
    /** As many runs or sessions as the server may have instances have one. */
    instances_exhausted: {
      data: z.object({ server: z.string(), scope: z.string(), limit: z.int() }),
      retryable: true,
    },
    policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    /** The store of call results does not answer; nothing was sent. */
    call_store_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    /** The tool is not as it was approved, or nobody approved it; nothing was sent. */
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
    /** The server failed again and again and gets no calls until it recovers; nothing was sent. */
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

/**
 * A server as one entry of the server file declares it (`services/mcp-broker/README.md` has the
 * fields). `${VAR}` references stand in it, never their values.
 */
export const ServerDeclaration = z.record(z.string(), z.unknown());
export type ServerDeclaration = z.infer<typeof ServerDeclaration>;

const UnknownServer = { data: z.object({ server: z.string() }) };

/** What every change of the registry can meet. Nothing was changed then. */
const changeErrors = {
  /** The caller is not in the list of the setting: a server may be any command on the broker's host. */
  forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
  registry_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
} as const;
/** The broker that owns the server does not answer now; nothing was changed. */
const OwnerUnavailable = {
  data: z.object({ server: z.string(), retryAfterMs: z.int().nonnegative() }),
  retryable: true,
};
const InvalidConfig = { data: z.object({ problems: z.array(z.string()) }) };
const ServerReply = z.object({ server: ServerInfo });
/** A child gets up to 4 s to end, and its group is waited for. */
const CHANGE_TIMEOUT_MS = 30_000;

export const getServer = rpc({
  subject: "yard.rpc.{caller}.mcp.get",
  summary: "Shows one MCP server: status and declaration, literal secrets as [redacted].",
  request: z.strictObject({ server: z.string() }),
  reply: z.object({
    server: ServerInfo,
    declaration: ServerDeclaration,
    /** Last change over the bus; null for a server of the file. */
    updatedAt: Timestamp.nullable(),
  }),
  errors: { unknown_server: UnknownServer },
});

export const addServer = rpc({
  subject: "yard.rpc.{caller}.mcp.add",
  summary: "Adds an MCP server and begins to connect it.",
  request: z.strictObject({ server: ServerDeclaration }),
  reply: ServerReply,
  errors: { ...changeErrors, invalid_config: InvalidConfig, server_exists: UnknownServer },
});

export const updateServer = rpc({
  subject: "yard.rpc.{caller}.mcp.update",
  summary: "Changes fields of an MCP server and reconnects it when it was connected.",
  request: z.strictObject({
    server: z.string(),
    /** Fields to set; null takes one out. `env` and `headers` are changed key by key. */
    changes: ServerDeclaration,
  }),
  reply: ServerReply,
  errors: {
    ...changeErrors,
    invalid_config: InvalidConfig,
    unknown_server: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
});

export const removeServer = rpc({
  subject: "yard.rpc.{caller}.mcp.remove",
  summary: "Removes an MCP server; answers when its connection and its processes are gone.",
  request: z.strictObject({ server: z.string() }),
  reply: z.object({ removed: z.literal(true), server: z.string() }),
  errors: {
    ...changeErrors,
    unknown_server: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
  timeoutMs: CHANGE_TIMEOUT_MS,
});

export const enableServer = rpc({
  subject: "yard.rpc.{caller}.mcp.enable",
  summary: "Switches an MCP server on or off for good.",
  request: z.strictObject({ server: z.string(), enabled: z.boolean() }),
  reply: ServerReply,
  errors: {
    ...changeErrors,
    invalid_config: InvalidConfig,
    unknown_server: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
});

export const connectServer = rpc({
  subject: "yard.rpc.{caller}.mcp.connect",
  summary: "Connects an MCP server, or connects it anew; answers when the attempt is over.",
  request: z.strictObject({ server: z.string() }),
  reply: ServerReply,
  errors: {
    forbidden_admin: changeErrors.forbidden_admin,
    unknown_server: UnknownServer,
    server_disabled: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
  timeoutMs: CHANGE_TIMEOUT_MS,
});

export const disconnectServer = rpc({
  subject: "yard.rpc.{caller}.mcp.disconnect",
  summary: "Ends a connection until mcp.connect or a restart; an unknown server is no error.",
  request: z.strictObject({ server: z.string() }),
  reply: z.object({ server: ServerInfo.nullable() }),
  errors: {
    forbidden_admin: changeErrors.forbidden_admin,
    owner_unavailable: OwnerUnavailable,
  },
  timeoutMs: CHANGE_TIMEOUT_MS,
});

export const serverLogs = rpc({
  subject: "yard.rpc.{caller}.mcp.logs",
  summary: "The last lines that an MCP server's process wrote to stderr.",
  request: z.strictObject({ server: z.string(), tail: z.int().min(1).max(10_000).default(200) }),
  reply: z.object({ lines: z.array(z.string()) }),
  errors: { unknown_server: UnknownServer, owner_unavailable: OwnerUnavailable },
});

export const serverConnected = event({
  subject: "yard.evt.mcp.{server}.connected",
  summary: "An MCP server is connected and its tools are in the catalogue.",
  payload: z.object({ server: ServerInfo, at: Timestamp }),
});

export const serverDisconnected = event({
  subject: "yard.evt.mcp.{server}.disconnected",
  summary: "An MCP server's connection ended; its tools left the catalogue.",
  payload: z.object({ server: ServerInfo, reason: z.string(), at: Timestamp }),
});

export const serverFailed = event({
  subject: "yard.evt.mcp.{server}.failed",
  summary: "An MCP server could not be connected.",
  payload: z.object({ server: ServerInfo, error: z.string(), at: Timestamp }),
});

/** Who changed the registry: a NATS user, or null for an edit of the file. */
const registryChange = { by: CallerName.nullable(), at: Timestamp };

export const serverAdded = event({
  subject: "yard.evt.mcp.{server}.added",
  summary: "An MCP server was added to the registry.",
  payload: z.object({ server: ServerInfo, ...registryChange }),
});

export const serverUpdated = event({
  subject: "yard.evt.mcp.{server}.updated",
  summary: "An MCP server's declaration was changed.",
  payload: z.object({ server: ServerInfo, ...registryChange }),
});

export const serverRemoved = event({
  subject: "yard.evt.mcp.{server}.removed",
  summary: "An MCP server left the registry.",
  payload: z.object({ serverId: ServerId, ...registryChange }),
});

export const serverFileRefused = event({
  subject: "yard.evt.mcp.config.refused",
  summary: "The edited server file cannot be used; the servers of the last good one stay.",
  payload: z.object({ problem: z.string(), at: Timestamp }),
});
