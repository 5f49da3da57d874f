import { z } from "zod";
import { live, rpc } from "../define.ts";
import { CallerName, ServerId, Timestamp } from "../ids.ts";
import { IfVersion } from "../if-version.ts";
import {
  ServerDeclaration,
  ServerInfo,
  connectServer,
  disconnectServer,
  removeServer,
  resetServer,
  updateServer,
} from "./mcp-servers.ts";

/** The errors of a broker that tries to take a server over. Nothing was connected then. */
const ensureErrors = {
  unknown_server: { data: z.object({ server: z.string() }) },
  server_disabled: { data: z.object({ server: z.string() }) },
  /** Another broker has the lease and does not answer; when it is gone, the lease ends in that time. */
  owned_elsewhere: {
    data: z.object({ server: z.string(), retryAfterMs: z.int().nonnegative() }),
    retryable: true,
  },
  /** No broker that was queried may own one more server. */
  no_capacity: { data: z.object({ server: z.string(), limit: z.int() }), retryable: true },
  /** The leases cannot be read or written. */
  lease_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
} as const;

/**
 * Called after an `mcp.call` found no responders. Any broker answers it, by acquiring the server's lease when it is free; afterwards the
 * call may be sent once more.
 */
export const ensureServer = rpc({
  subject: "yard.rpc.{caller}.mcp.ensure",
  summary: "Ensures that a broker owns an MCP server and accepts its calls.",
  role: "operator",
  request: z.strictObject({ server: ServerId }),
  reply: z.object({ server: ServerId }),
  errors: ensureErrors,
  /** A dead owner's lease has to end first, and then the server is connected. */
  timeoutMs: 20_000,
});

/** A request of a broker to the owner of a server, because only the owner has the connection. */
export const OwnerRequest = z.discriminatedUnion("do", [
  /** Connects the server unless it is connected, and answers when the attempt is over. */
  z.strictObject({ do: z.literal("start") }),
  z.strictObject({ do: z.literal("connect"), by: CallerName }),
  z.strictObject({ do: z.literal("disconnect"), by: CallerName }),
  z.strictObject({ do: z.literal("remove"), by: CallerName, ifVersion: IfVersion }),
  z.strictObject({
    do: z.literal("update"),
    by: CallerName,
    changes: ServerDeclaration,
    isResume: z.boolean(),
    ifVersion: IfVersion,
  }),
  z.strictObject({ do: z.literal("reset"), by: CallerName }),
  z.strictObject({ do: z.literal("logs") }),
  /** Requests the server's declaration, for a broker whose own file does not name it. */
  z.strictObject({ do: z.literal("get") }),
]);
export type OwnerRequest = z.infer<typeof OwnerRequest>;

/**
 * Called between brokers only: no client has the permission, and an owner accepts it from the broker's own user alone. The original caller
 * is in `by`, and was checked by the broker that passes it on.
 */
export const askOwner = rpc({
  subject: "yard.rpc.{caller}.mcp.owner.{server}",
  summary: "Between brokers: carries a request about an MCP server to its owner.",
  request: OwnerRequest,
  reply: z.object({
    /** Null after a removal. */
    server: ServerInfo.nullable(),
    /** Set for `logs`: all stored lines of stderr. */
    stderr: z.string().optional(),
    /** Set for `get`: the declaration as `mcp.get` shows it. */
    declaration: ServerDeclaration.optional(),
    updatedAt: Timestamp.nullable().optional(),
    /** Set for `get` and `update`. */
    version: z.string().optional(),
  }),
  errors: {
    ...updateServer.errors,
    ...removeServer.errors,
    ...resetServer.errors,
    ...connectServer.errors,
    ...disconnectServer.errors,
    not_owner: { data: z.object({ server: z.string() }), retryable: true },
  },
  timeoutMs: connectServer.timeoutMs,
});

/**
 * A hint that what Redis says about a server or about the registry has changed. `revision`: the tools of the server ask in the way of
 * revisions before 2026-07-28, so every broker connects it with one of these.
 */
export const serverHint = live({
  subject: "yard.live.mcp-server.{server}",
  summary: "A hint between brokers to read the shared state of an MCP server again.",
  payload: z.object({ about: z.enum(["lease", "registry", "revision"]) }),
});
