import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import type { Bus } from "@switchyard/bus/bus";
import { cutText } from "@switchyard/contracts/cut-text";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { RunInput, type RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { z } from "zod";
import type { Redis } from "@switchyard/service/redis";
import { lastEventText } from "@switchyard/bus/last-event";
import { subjectOf } from "@switchyard/contracts/define";
import { runMerged, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { createRecentRecords, type RecordLimits } from "../identity/recent-records.ts";
import { type RunEnd, endOf, readRunEvent } from "./run-event.ts";

/** The record of a run whose command was stored, until a runner has started it. */
const AcceptedRun = z.object({
  agent: z.string(),
  /** Long inputs are cut. */
  input: RunInput,
  labels: z.record(z.string(), z.string()),
  at: z.string(),
});
type AcceptedRun = z.infer<typeof AcceptedRun>;

/** Runs that a gateway has accepted: for a while the command is only in the queue, and no runner has a record of the run. */
export interface AcceptedRuns {
  /** Never rejects: the command is stored, whether or not this record can be. */
  note(runId: string, run: Omit<AcceptedRun, "at">): Promise<void>;
  /** Returns a run of the caller that no runner has started; null when none was accepted. Rejects with a StoreError or a ServiceError. */
  find(runId: string): Promise<RunDetail | null>;
  /** Deletes the record of a run that was deleted. Rejects with a StoreError. */
  forget(runId: string): Promise<void>;
}

const ACCEPTED_LIMITS: RecordLimits = { most: 5_000, ttlMs: 24 * 60 * 60_000 };
const SHOWN_LENGTH = 1_000;
/** The record of a run that was refused before any gateway had accepted it. */
const NOTHING_KNOWN: Omit<AcceptedRun, "at"> = { agent: "unknown", input: "…", labels: {} };

export function createAcceptedRuns({
  redis,
  bus,
  now,
}: {
  readonly redis: Redis;
  readonly bus: Bus;
  readonly now: () => number;
}): AcceptedRuns {
  const records = createRecentRecords(redis, "accepted", { limits: ACCEPTED_LIMITS, now });
  return {
    async note(runId, { input, ...about }) {
      const run: AcceptedRun = { ...about, input: shown(input), at: new Date(now()).toISOString() };
      await records.add(ownerOfRun(runId) ?? "", runId, JSON.stringify(run)).catch(() => null);
    },
    async find(runId) {
      const [text, refused] = await Promise.all([
        records.get(ownerOfRun(runId) ?? "", runId),
        refusedStart(bus, runId),
      ]);
      if (text !== null) return unbegun(runId, AcceptedRun.parse(JSON.parse(text)), refused);
      if (refused === null) return null;
      return unbegun(runId, { ...NOTHING_KNOWN, at: refused.at }, refused);
    },
    forget: (runId) => records.remove(ownerOfRun(runId) ?? "", runId),
  };
}

function shown(input: RunInput): RunInput {
  const text = inputText(input);
  return text.length > SHOWN_LENGTH ? `${cutText(text, SHOWN_LENGTH)}…` : input;
}

function unbegun(runId: string, accepted: AcceptedRun, refused: RunEnd | null): RunDetail {
  const { agent, input, labels, at } = accepted;
  return {
    runId,
    agent,
    requester: ownerOfRun(runId) ?? "",
    model: null,
    status: refused === null ? "queued" : "rejected",
    steps: 0,
    toolCalls: 0,
    createdAt: at,
    updatedAt: refused?.at ?? at,
    attempts: 0,
    labels,
    usage: { inputTokens: 0, outputTokens: 0 },
    input,
    output: null,
    failure: refused?.failure ?? null,
    cancellation: null,
    agentDigest: null,
    skills: [],
  };
}

/** Returns the refusal of a run that no runner has a record of; null when it was not refused, so that it still waits for a runner. */
export async function refusedStart(bus: Bus, runId: string): Promise<RunEnd | null> {
  const tokens = {
    owner: ownerOfRun(runId) ?? "",
    runId: runId.slice(runId.indexOf("~") + 1),
  };
  for (const contract of [runRejected, runMerged]) {
    const subject = subjectOf<string>(contract, tokens);
    const text = await lastEventText(bus, subject);
    const payload = text === null ? null : (JSON.parse(text) as unknown);
    const event = payload === null ? null : readRunEvent({ subject, payload });
    const end = event === null ? null : endOf(event, false);
    if (end !== null) return end;
  }
  return null;
}
