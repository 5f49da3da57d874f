import { z } from "zod";
import { rpc } from "../define.ts";
import { CallerName, RunId, Timestamp } from "../ids.ts";
import { ListCursor, NextCursor } from "../list-cursor.ts";
import { storeUnavailable } from "../store-errors.ts";
import { RunStatus } from "./runs.ts";

/** The most runs that one request deletes. */
export const MAX_DELETED_AT_ONCE = 100;

/** Nothing is deleted that cannot be recorded. */
const auditUnavailable = { data: z.object({}), retryable: true } as const;

/**
 * Deletes an ended run. From the reply on it does not exist for any reader; its journal in the archive, large texts and events are deleted within seconds. The same
 * users may as for `run.cancel`. Its id is not free again: a repeated command with it is refused.
 */
export const deleteRun = rpc({
  subject: "yard.rpc.{caller}.runs.delete",
  summary: "Deletes an ended run with its texts and events.",
  role: "operator",
  request: z.strictObject({ runId: RunId }),
  reply: z.object({
    runId: RunId,
    /** `absent`: the caller has no such run, because it was deleted before or never was. */
    outcome: z.enum(["deleted", "absent"]),
  }),
  errors: {
    /** The run, or the run that it works for, has not ended. */
    run_not_ended: { data: z.object({ runId: z.string(), status: RunStatus }) },
    audit_unavailable: auditUnavailable,
    store_unavailable: storeUnavailable,
  },
});

/**
 * Deletes ended runs of one owner, those that began first, as `runs.delete` does. The caller repeats the request with `next` until that is null. Runs that have not ended
 * are counted and stay.
 */
export const deleteRuns = rpc({
  subject: "yard.rpc.{caller}.runs.delete-ended",
  summary: "Deletes ended runs of an owner, a part at a time.",
  role: "operator",
  request: z.strictObject({
    /** Left out: the caller. Only cli and admin may name another one. */
    owner: CallerName.optional(),
    /** Selects runs that began before this time. */
    before: Timestamp.optional(),
    /** The most runs to look at. */
    limit: z.int().min(1).max(MAX_DELETED_AT_ONCE).default(MAX_DELETED_AT_ONCE),
    cursor: ListCursor.optional(),
  }),
  reply: z.object({
    deleted: z.int().nonnegative(),
    /** Runs that were looked at and have not ended. */
    notEnded: z.int().nonnegative(),
    next: NextCursor,
  }),
  errors: {
    not_allowed: { data: z.object({ owner: z.string() }) },
    audit_unavailable: auditUnavailable,
    store_unavailable: storeUnavailable,
  },
});
