import { z } from "zod";
import { rpc } from "../define.ts";
import { AgentName, CallerName, RunId } from "../ids.ts";
import { CallId } from "../mcp-broker/mcp-calls.ts";
import { storeUnavailable } from "../store-errors.ts";

/** The number of calls right before the waiting one that are included; the number of earlier ones is in `earlierCalls`. */
export const MAX_PRECEDING_CALLS = 10;

/** A call that the run made before, or that the model wants beside the waiting one. */
export const PrecedingCall = z.object({
  tool: z.string(),
  /** JSON of the arguments, cut to 1 KiB. */
  argsPreview: z.string(),
  /** `open`: it has no result yet. `error`: it was denied, failed, or the tool reported an error. */
  outcome: z.enum(["done", "error", "open"]),
  /** The result as the model received it, cut to 1 KiB; empty while it is open. */
  preview: z.string(),
});
export type PrecedingCall = z.infer<typeof PrecedingCall>;

/**
 * The part of a run that is shown to a person who decides about one of its calls, and nothing else of the run. Texts are redacted as those
 * of run events are, invisible characters are written as `\u{…}`, and a text that was cut ends in `…`.
 */
export const CallContext = z.object({
  agent: AgentName,
  requester: CallerName,
  /** The input of the run, as text or JSON, cut to 4 KiB. */
  input: z.string(),
  /** The last text that the model wrote up to the call, cut to 4 KiB; empty when it wrote none. */
  modelText: z.string(),
  /** The oldest first. */
  calls: z.array(PrecedingCall).max(MAX_PRECEDING_CALLS),
  /** The number of calls before those in `calls`. */
  earlierCalls: z.int().nonnegative(),
});
export type CallContext = z.infer<typeof CallContext>;

/** Requested by the policy service alone, which checks who may see the approval of the call. */
export const readCallContext = rpc({
  subject: "yard.rpc.{caller}.runs.call-context",
  summary: "Returns the part of a run that an approver of one of its calls is shown.",
  request: z.strictObject({ runId: RunId, callId: CallId }),
  /** Null when there is no such run or call, or its journal cannot be read. */
  reply: z.object({ context: CallContext.nullable() }),
  errors: { store_unavailable: storeUnavailable },
  timeoutMs: 1_500,
});
