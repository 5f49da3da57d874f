import { RunId } from "@switchyard/contracts/ids";
import { runEvents } from "@switchyard/contracts/agent-runner/run-events";
import { totalRuns } from "@switchyard/contracts/agent-runner/run-totals";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import {
  getRun,
  listDeadRuns,
  listRuns,
  redriveCommand,
  requestCancel,
} from "@switchyard/contracts/agent-runner/runs";
import { z } from "zod";
import type { JsonOutputs } from "./output.ts";

const { strictObject: strict, array, string, number, int, literal, union } = z;

/** A line about a run's event, with the payload of each event's contract. */
export const runEvent = union(
  runEvents.map((contract) =>
    strict({
      event: literal(contract.name),
      subject: string(),
      sequence: int().positive(),
      time: z.iso.datetime(),
      payload: contract.payload,
    }),
  ),
);

/** A run that is not followed: its id, and the sequence of its command in the queue. */
export const startedRun = strict({ runId: RunId, sequence: int().positive() });

const span = strict({
  kind: z.enum(["step", "call", "wait"]),
  step: int().nullable(),
  text: string(),
  outcome: z.enum(["done", "error", "denied", "failed", "open"]),
  offsetMs: number(),
  durationMs: number().nullable(),
  providerMs: number().optional(),
  costUsd: number().optional(),
});

export const RUN_OUTPUTS: JsonOutputs = {
  run: { line: runEvent, document: startedRun },
  "runs list": { document: listRuns.reply.omit({ searchedFrom: true }) },
  "runs totals": { document: totalRuns.reply },
  "runs show": { document: getRun.reply.extend({ timeline: array(span) }) },
  "runs events": { line: runEvent },
  "runs tail": { line: runEvent },
  "runs replay": { line: runEvent },
  "runs cancel": { document: requestCancel.reply.extend({ runId: RunId }) },
  "runs retry": { document: strict({ runId: RunId, outcome: literal("retried") }) },
  "runs steer": { document: strict({ runId: RunId, outcome: literal("steered") }) },
  "runs resume": { document: strict({ runId: RunId, outcome: literal("resumed") }) },
  "runs fork": { document: strict({ runId: RunId, forkedFrom: RunId }) },
  "runs dead": { document: listDeadRuns.reply },
  "runs redrive": { document: redriveCommand.reply },
  "runs delete": {
    document: strict({ deleted: int(), notEnded: int(), absent: array(RunId) }),
  },
  "runs questions": { document: listQuestions.reply },
  "runs answer": { document: answerQuestion.reply.extend({ runId: RunId, callId: string() }) },
};
