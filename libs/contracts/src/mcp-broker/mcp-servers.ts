import { z } from "zod";
import { event, rpc } from "../define.ts";
import { CallerName, ServerId, Timestamp } from "../ids.ts";
import { IfVersion, versionChanged } from "../if-version.ts";
import { CircuitState } from "./mcp-calls.ts";

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

/** The source of a server's declaration: the broker's file, or the rpcs below. */
export const ServerOrigin = z.enum(["file", "api"]);
export type ServerOrigin = z.infer<typeof ServerOrigin>;

export const ServerInfo = z.object({
  id: ServerId,
  name: z.string(),
  origin: ServerOrigin.default("file"),
  transport: TransportKind,
  status: ServerStatus,
  toolCount: z.int().nonnegative(),
  /** Name and version that the server reported. */
  serverVersion: z.string().nullable(),
  protocolVersion: z.string().nullable(),
  lastError: z.string().nullable(),
  connectedAt: Timestamp.nullable(),
  /** Its capabilities; null while it is not connected. Missing from an older broker. */
  capabilities: z
    .object({ tools: z.boolean(), resources: z.boolean(), prompts: z.boolean() })
    .nullable()
    .optional(),
  /** Its instructions to a model; missing while it is not connected, and where the broker does not pass them on. */
  instructions: z.string().optional(),
  /** The broker that has its lease; null while none has. Missing from an older broker. */
  owner: z.string().nullable().optional(),
  /** The state of its circuit; missing from an older broker. */
  circuit: CircuitState.optional(),
  /** True when it is connected from the start; else its first call connects it. Missing from an older broker. */
  autoConnect: z.boolean().optional(),
  /** True when it was changed over the bus and the broker's file has an entry for it, too, which is not read before `mcp.reset`. */
  overridesFile: z.boolean().optional(),
  /** The parts of its declaration that have no effect; left out when there are none. */
  warnings: z.array(z.string()).optional(),
});
export type ServerInfo = z.infer<typeof ServerInfo>;

export const listServers = rpc({
  subject: "yard.rpc.{caller}.mcp.servers",
  summary: "Lists the configured MCP servers with their true status.",
  role: "admin",
  request: z.strictObject({}),
  reply: z.object({ servers: z.array(ServerInfo) }),
});

/**
 * A server as one entry of the server file declares it (`docs/mcp-servers.md` has the fields). It contains `${VAR}` references, never their
 * values.
 */
export const ServerDeclaration = z.record(z.string(), z.unknown());
export type ServerDeclaration = z.infer<typeof ServerDeclaration>;

const UnknownServer = { data: z.object({ server: z.string() }) };

/** The errors that every change of the registry can have. Nothing was changed then. */
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
/** A credential is written out. Nothing was changed: store it with `mcp.secrets.set`, and refer to it as `${secret:NAME}`. */
const LiteralSecret = {
  data: z.object({
    /** Each with a name under which it may be stored. */
    fields: z.array(z.object({ field: z.string(), secret: z.string() })),
  }),
};
const InvalidConfig = { data: z.object({ problems: z.array(z.string()) }) };
/**
 * The version of its declaration and of the last change over the bus, for the `ifVersion` of `mcp.update` and `mcp.remove`. Missing from an
 * older broker.
 */
const ServerVersion = z.string().optional();
const ServerReply = z.object({ server: ServerInfo });
/** A child gets up to 4 s to end, and its group is waited for. */
const CHANGE_TIMEOUT_MS = 30_000;
/** The end of the previous connection, and an attempt that takes all of the default `connectTimeoutMs`. */
const CONNECT_TIMEOUT_MS = 75_000;

export const getServer = rpc({
  subject: "yard.rpc.{caller}.mcp.get",
  summary: "Shows one MCP server: status and declaration, literal secrets as [redacted].",
  role: "admin",
  request: z.strictObject({ server: z.string() }),
  reply: z.object({
    server: ServerInfo,
    declaration: ServerDeclaration,
    /** Last change over the bus; null for a server of the file. */
    updatedAt: Timestamp.nullable(),
    version: ServerVersion,
  }),
  errors: { unknown_server: UnknownServer, owner_unavailable: OwnerUnavailable },
});

export const addServer = rpc({
  subject: "yard.rpc.{caller}.mcp.add",
  summary: "Adds an MCP server and begins to connect it.",
  role: "admin",
  request: z.strictObject({ server: ServerDeclaration }),
  reply: ServerReply,
  errors: {
    ...changeErrors,
    invalid_config: InvalidConfig,
    literal_secret: LiteralSecret,
    server_exists: UnknownServer,
  },
});

export const updateServer = rpc({
  subject: "yard.rpc.{caller}.mcp.update",
  summary: "Changes fields of an MCP server; reconnects it where its connection needs it.",
  role: "admin",
  request: z.strictObject({
    server: z.string(),
    /** Fields to set; null removes one. `env` and `headers` are changed key by key. */
    changes: ServerDeclaration,
    /** The server's `version`, as `mcp.get` returns it. */
    ifVersion: IfVersion,
  }),
  reply: ServerReply.extend({ version: ServerVersion }),
  errors: {
    ...changeErrors,
    version_changed: versionChanged,
    invalid_config: InvalidConfig,
    literal_secret: LiteralSecret,
    unknown_server: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
});

export const removeServer = rpc({
  subject: "yard.rpc.{caller}.mcp.remove",
  summary: "Removes an MCP server; replies when its connection and its processes have ended.",
  role: "admin",
  request: z.strictObject({
    server: z.string(),
    /** The server's `version`, as `mcp.get` returns it. */
    ifVersion: IfVersion,
  }),
  reply: z.object({ removed: z.literal(true), server: z.string() }),
  errors: {
    ...changeErrors,
    version_changed: versionChanged,
    unknown_server: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
  timeoutMs: CHANGE_TIMEOUT_MS,
});

export const enableServer = rpc({
  subject: "yard.rpc.{caller}.mcp.enable",
  summary: "Enables or disables an MCP server until the next change.",
  role: "admin",
  request: z.strictObject({ server: z.string(), enabled: z.boolean() }),
  reply: ServerReply,
  errors: {
    ...changeErrors,
    invalid_config: InvalidConfig,
    unknown_server: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
});

export const resetServer = rpc({
  subject: "yard.rpc.{caller}.mcp.reset",
  summary: "Discards changes by request: the declaration of the file counts again.",
  role: "admin",
  request: z.strictObject({ server: z.string() }),
  reply: ServerReply,
  errors: {
    ...changeErrors,
    unknown_server: UnknownServer,
    /** It is registered over the bus only. */
    not_in_file: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
});

export const connectServer = rpc({
  subject: "yard.rpc.{caller}.mcp.connect",
  summary: "Connects an MCP server, or connects it anew; answers when the attempt is over.",
  role: "admin",
  request: z.strictObject({ server: z.string() }),
  reply: ServerReply,
  errors: {
    forbidden_admin: changeErrors.forbidden_admin,
    unknown_server: UnknownServer,
    server_disabled: UnknownServer,
    owner_unavailable: OwnerUnavailable,
  },
  timeoutMs: CONNECT_TIMEOUT_MS,
});

export const disconnectServer = rpc({
  subject: "yard.rpc.{caller}.mcp.disconnect",
  summary: "Ends a connection until mcp.connect or a restart; an unknown server is not an error.",
  role: "admin",
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
  role: "admin",
  request: z.strictObject({ server: z.string(), tail: z.int().min(1).max(10_000).default(200) }),
  reply: z.object({
    lines: z.array(z.string()),
    /** False for a server that is reached over HTTP: it is not a process of the broker. */
    hasProcess: z.boolean().optional(),
  }),
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

/** The author of a change of the registry: a NATS user, or null for an edit of the file. */
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
