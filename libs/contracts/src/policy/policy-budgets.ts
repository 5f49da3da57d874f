import { z } from "zod";
import { event, rpc } from "../define.ts";
import { storeUnavailable } from "../store-errors.ts";
import { AgentName, CallerName, RunId, ServerId, Timestamp } from "../ids.ts";

/** Called by a tool provider when a call that the policy counted is over. */
export const releaseCall = rpc({
  subject: "yard.rpc.{caller}.policy.release",
  summary: "Ends a call's count in a limit of calls at a time.",
  request: z.strictObject({
    reservation: z.string().min(1).max(200),
    /** False for a call that was certainly not made: it leaves the windows of rules, too. */
    isMade: z.boolean().optional(),
  }),
  reply: z.object({ released: z.boolean() }),
  errors: { store_unavailable: storeUnavailable },
  timeoutMs: 2_000,
});

/** The scope of a stop: every tool call, or those of one agent, run, user or server, or of tokens of one key. */
export const StopScope = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("all") }),
  z.strictObject({ kind: z.literal("agent"), name: AgentName }),
  z.strictObject({ kind: z.literal("run"), name: RunId }),
  z.strictObject({ kind: z.literal("server"), name: ServerId }),
  z.strictObject({ kind: z.literal("user"), name: CallerName }),
  /** Every run token that a key has signed, by its `kid`. */
  z.strictObject({ kind: z.literal("key"), name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/) }),
]);
export type StopScope = z.infer<typeof StopScope>;

/** The scope of a stop, for people: `all calls`, `agent reviewer`. */
export function scopeText(scope: StopScope): string {
  return scope.kind === "all" ? "all calls" : `${scope.kind} ${scope.name}`;
}

export const Stop = z.object({
  scope: StopScope,
  reason: z.string().max(300),
  by: CallerName,
  at: Timestamp,
});
export type Stop = z.infer<typeof Stop>;

/** The facts about a stop that a matching caller gets. */
export const StopInForce = z.object({
  scope: StopScope,
  /** The words of the administrator who stopped it; empty from an older policy service. */
  reason: z.string().max(300).default(""),
});
export type StopInForce = z.infer<typeof StopInForce>;

export const MAX_STOPS = 1_000;

const ForbiddenAdmin = { data: z.object({ caller: z.string(), setting: z.string() }) };

/** The kill switch. It answers when this replica lets no matching call pass any more. */
export const stopCalls = rpc({
  subject: "yard.rpc.{caller}.policy.stop",
  summary:
    "Denies every call of an agent, run, user or server, or all calls, within a second; for policy admins.",
  role: "admin",
  request: z.strictObject({
    scope: StopScope,
    reason: z
      .string()
      .min(1)
      .max(300)
      // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
      .regex(/^[^\x00-\x1f\x7f-\x9f]+$/u, "must be one line of text"),
  }),
  reply: z.object({ stop: Stop }),
  errors: {
    forbidden_admin: ForbiddenAdmin,
    too_many: { data: z.object({ limit: z.int() }) },
    store_unavailable: storeUnavailable,
  },
  timeoutMs: 5_000,
});

export const resumeCalls = rpc({
  subject: "yard.rpc.{caller}.policy.resume",
  summary: "Ends a stop; for policy admins.",
  role: "admin",
  request: z.strictObject({ scope: StopScope }),
  reply: z.object({ resumed: z.boolean() }),
  errors: { forbidden_admin: ForbiddenAdmin, store_unavailable: storeUnavailable },
  timeoutMs: 5_000,
});

export const listStops = rpc({
  subject: "yard.rpc.{caller}.policy.stops",
  summary:
    "Lists the stops: all for services and policy admins, for others those that could stop their own calls.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({ stops: z.array(Stop).max(MAX_STOPS) }),
  timeoutMs: 2_000,
});

/** A stop began or ended. `{scope}` is its kind. */
export const callsStopped = event({
  subject: "yard.evt.policy.{scope}.stopped",
  summary: "A policy admin stopped calls.",
  payload: Stop,
});

export const callsResumed = event({
  subject: "yard.evt.policy.{scope}.resumed",
  summary: "A policy admin ended a stop.",
  payload: z.object({ scope: StopScope, by: CallerName, at: Timestamp }),
});
