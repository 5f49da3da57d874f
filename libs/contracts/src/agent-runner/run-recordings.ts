import { z } from "zod";
import { rpc } from "../define.ts";
import { AgentName, ModelName, RunId, SkillName } from "../ids.ts";
import { Recording } from "./recording.ts";
import { RunInput } from "./runs.ts";
import { storeUnavailable } from "../store-errors.ts";

/** A run with the answers of its models: `run.start` with `replay` plays it again without calling one. */
export const RecordedRun = z.strictObject({
  runId: RunId,
  agent: AgentName,
  input: RunInput,
  /** The skill that the command named, if it did. */
  skill: SkillName.optional(),
  /** The schema of the answer that the command requested, if it did. */
  output: z.record(z.string(), z.unknown()).optional(),
  /** The model that was called. */
  model: ModelName,
  recording: Recording,
});
export type RecordedRun = z.infer<typeof RecordedRun>;

export const getRecording = rpc({
  subject: "yard.rpc.{caller}.runs.recording",
  summary: "Returns the answers of a run's models, to be replayed.",
  role: "viewer",
  request: z.strictObject({ runId: RunId }),
  reply: z.object({ run: RecordedRun }),
  errors: {
    unknown_run: { data: z.object({ runId: z.string() }) },
    journal_corrupt: { data: z.object({ runId: z.string() }) },
    /** No model has answered in it yet, or it begins in the middle: of another run, or of a conversation. */
    not_recordable: { data: z.object({ runId: z.string() }) },
    store_unavailable: storeUnavailable,
  },
});
