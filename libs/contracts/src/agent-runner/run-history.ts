import { z } from "zod";
import { rpc } from "../define.ts";
import { AgentName, RunId, Timestamp } from "../ids.ts";
import { storeUnavailable } from "../store-errors.ts";

/** An event of a run as the stream of events has it, or had it. */
export const RunEventRecord = z.object({
  /** The last token of its subject, such as `tool-completed`. */
  event: z.string(),
  /** The published payload: the fields that every event of a run carries, and those of this event. */
  payload: z.looseObject({ runId: RunId, seq: z.int().positive(), at: Timestamp }),
});
export type RunEventRecord = z.infer<typeof RunEventRecord>;

/**
 * Returns the events that a run has published, derived from its journal: the same payloads under the same numbers as in the stream, which
 * stores an event for a week. Events without a number (`queued`, `delayed`, `merged`, `rejected`) belong to commands and are in the stream
 * alone. The same users may call it as `runs.get`.
 */
export const listRunEvents = rpc({
  subject: "yard.rpc.{caller}.runs.events",
  summary: "Returns the events of a run, also those that have left the stream.",
  role: "viewer",
  request: z.strictObject({
    runId: RunId,
    /** The `seq` of the last event that the caller has. */
    after: z.int().nonnegative().default(0),
    /** A page of long events may be shorter. */
    limit: z.int().min(1).max(500).default(100),
  }),
  reply: z.object({
    events: z.array(RunEventRecord),
    /** `after` of the next page; null when the run has published no further event. */
    next: z.int().positive().nullable(),
  }),
  errors: {
    unknown_run: { data: z.object({ runId: z.string() }) },
    journal_corrupt: { data: z.object({ runId: z.string() }) },
    store_unavailable: storeUnavailable,
  },
});

/** Called by the gateway, which filters events of runs by their agent: the agent is in a run's first event alone. */
export const findAgentOfRun = rpc({
  subject: "yard.rpc.{caller}.runs.agent",
  summary: "Returns the agent of a run whose first event has left the stream.",
  request: z.strictObject({ runId: RunId }),
  /** Null when there is no such run, or its journal cannot be read. */
  reply: z.object({ agent: AgentName.nullable() }),
  errors: { store_unavailable: storeUnavailable },
});
