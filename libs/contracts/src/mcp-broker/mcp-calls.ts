import { z } from "zod";
import { live, rpc } from "../define.ts";
import { CallerName, ServerId, Timestamp } from "../ids.ts";
import { RunToken } from "../policy/run-token.ts";

/** The id under which a tool call is effectively-once. */
export const CallId = z.string().regex(/^[A-Za-z0-9:_~-]{1,200}$/);

/**
 * The prefix of an id that is used for one call and never again: it serves to cancel the call, and to find the approval of a person for it.
 * No result is stored of a call that the policy allows without approval, since no request can repeat it; a provider without support for
 * this stores one.
 */
export const SINGLE_USE = "once:";

/** The last token of the subject on which the progress of a call is published, chosen by its caller. */
export const ProgressId = z
  .string()
  .regex(/^[A-Za-z0-9_~-]{1,100}$/, "must be 1-100 characters of A-Z a-z 0-9 _ - ~");

/**
 * The state of a server's circuit: `closed` lets all calls through, `open` none, `half_open` one that tries. Infrastructure failures open
 * it, never the result of a tool.
 */
export const CircuitState = z.enum(["closed", "open", "half_open"]);
export type CircuitState = z.infer<typeof CircuitState>;

/** Served beside `mcp.call` on one subject per server, so it reaches the broker that has the call. */
export const cancelCall = rpc({
  subject: "yard.rpc.{caller}.mcp.cancel.{server}",
  summary: "Cancels a tool call in progress, at its MCP server, too.",
  role: "operator",
  request: z.strictObject({
    callId: CallId,
    /** The token of the run that made the call; another token than the call's own is checked. */
    token: RunToken.optional(),
  }),
  /** False when there is no such call of this caller and run in progress; other callers' calls are not revealed. */
  reply: z.object({ cancelled: z.boolean() }),
  errors: {
    invalid_token: { data: z.object({ reason: z.string() }) },
    policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
  },
});

/**
 * Called between brokers only: where every broker serves a server, `mcp.cancel` may reach another one than that which has the call, and the
 * call's record names it.
 */
export const cancelCallAt = rpc({
  subject: "yard.rpc.{caller}.mcp.cancel-at.{broker}",
  summary: "Between brokers: carries a cancellation to the broker that has the call.",
  request: cancelCall.request.extend({
    server: ServerId,
    /** The original caller; the broker that passes the request on guarantees it. */
    onBehalfOf: CallerName,
  }),
  reply: cancelCall.reply,
  errors: cancelCall.errors,
});

/**
 * Published at most ten times a second for each call, and only when `progress` requests it. The owner is the user that the call is made
 * for: the requester of the run, or the caller itself.
 */
export const callProgress = live({
  subject: "yard.live.mcp.{owner}.{progressId}",
  summary: "How far a tool call is, in its MCP server's own numbers.",
  payload: z.object({
    server: z.string(),
    tool: z.string(),
    callId: CallId.nullable(),
    progress: z.number(),
    total: z.number().nullable(),
    /** At most 500 characters. */
    message: z.string().max(500).nullable(),
    at: Timestamp,
  }),
});
export type CallProgress = z.infer<typeof callProgress.payload>;
