import type { Delivery } from "@switchyard/bus/delivery";
import { tokensOf } from "@switchyard/contracts/define";
import { CallerName, RunId } from "@switchyard/contracts/ids";
import {
  beginRun,
  forkRun,
  resumeRun,
  spawnRun,
  steerRun,
} from "@switchyard/contracts/agent-runner/run-commands";
import { cancelRun, retryRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { proceedSession } from "@switchyard/contracts/agent-runner/sessions";
import { controlledRun } from "../journal/run-access.ts";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import { holderOf } from "../journal/run-storage.ts";
import { madeRunId, namedRunId, wholeRunId, type Rejection } from "./run-command.ts";
import { storageRefusalOf } from "./rejection.ts";
import type {
  CancelOutcome,
  RetryOutcome,
  RunControls,
  AppendOutcome,
} from "../journal/run-controls.ts";

/** The commands of the runners' queue. */
export const RUN_COMMANDS = [
  startRun,
  cancelRun,
  retryRun,
  resumeRun,
  steerRun,
  forkRun,
  spawnRun,
  beginRun,
  proceedSession,
] as const;

/** The result of a command about an existing run. */
export type ControlResult =
  | { readonly next: "done" }
  /** A runner must work on the run: to end it, or to continue it. */
  | { readonly next: "work"; readonly runId: string; readonly isHint: boolean }
  /** The run has a new control; if this process works on the run, it can apply it at once. */
  | { readonly next: "look"; readonly runId: string }
  | { readonly next: "reject"; readonly rejection: Rejection; readonly runId: string | null };

type Received = Extract<Delivery, { kind: "command" }>;

interface ControlParts {
  readonly controls: RunControls;
  readonly storage: Pick<OwnerStorage, "admit">;
  readonly now: () => number;
}

/** Executes the commands about an existing run; null for those that start one. */
export async function applyControl(
  delivery: Received,
  parts: ControlParts,
): Promise<ControlResult | null> {
  const { contract } = delivery;
  if (!CONTROLS.some(({ name }) => name === contract.name)) return null;
  const named = RunId.safeParse(delivery.tokens["runId"]);
  const by = CallerName.safeParse(delivery.caller);
  if (!named.success || !by.success) {
    const message = `${delivery.subject} is not a subject of ${contract.name}: it needs a caller's name and a run id`;
    return { next: "reject", rejection: rejection("invalid_command", message), runId: null };
  }
  const runId = controlledRun(by.data, named.data);
  if (runId === null) {
    const refusal = notAllowed(named.data, by.data);
    return { next: "reject", rejection: refusal, runId: named.data };
  }
  try {
    return await carryOut(delivery, { runId, by: by.data }, parts);
  } catch (error) {
    const refusal = storageRefusalOf(error);
    if (refusal === null) throw error;
    return { next: "reject", rejection: refusal.rejection, runId };
  }
}

/**
 * Rejects with `storage_full` when the command would make a run grow whose owner may store no more. A cancel request is
 * accepted nevertheless.
 */
async function carryOut(
  { contract, streamSequence, publishedAt, payload }: Received,
  { runId, by }: Asked,
  { controls, storage, now }: ControlParts,
): Promise<ControlResult> {
  const at = new Date(now()).toISOString();
  const control = { runId, by, at };
  // A recreated stream counts from 1 again, so the time is part of a command's id.
  const command = `${streamSequence}:${publishedAt.getTime()}`;
  const news = { runId, by, expected: null, command };
  if (contract.name === cancelRun.name) {
    const { reason = null } = cancelRun.payload.parse(payload);
    const request = { ...control, reason, command };
    return afterCancel(control, await controls.cancel(request, (owner) => storage.admit(owner)));
  }
  if (contract.name === resumeRun.name) {
    const { limits } = resumeRun.payload.parse(payload);
    if (limits === undefined) return { next: "work", runId, isHint: true };
    await storage.admit(holderOf(runId, by));
    const entry = { kind: "limits-changed" as const, at, by, limits, streamSequence };
    return afterNews(control, await controls.append({ ...news, entry }));
  }
  await storage.admit(holderOf(runId, by));
  if (contract.name === steerRun.name) {
    const { message } = steerRun.payload.parse(payload);
    const entry = { kind: "steered" as const, at, by, message, streamSequence };
    return afterNews(control, await controls.append({ ...news, entry }));
  }
  const { limits = {} } = retryRun.payload.parse(payload);
  return afterRetry(control, await controls.retry({ ...control, limits, command, streamSequence }));
}

/** The run that a message is about, whatever its body holds. */
export function runIdOfMessage(delivery: Delivery): string {
  for (const contract of CONTROLS) {
    const tokens: Record<string, string> | null = tokensOf<string>(contract, delivery.subject);
    const named = RunId.safeParse(tokens?.["runId"]);
    if (named.success) return wholeRunId(delivery.caller, named.data);
  }
  const named = namedRunId(delivery.payload);
  return named === null ? madeRunId(delivery) : wholeRunId(delivery.caller, named);
}

const CONTROLS = [cancelRun, retryRun, resumeRun, steerRun] as const;

interface Asked {
  readonly runId: string;
  readonly by: string;
}

function afterCancel({ runId, by }: Asked, outcome: CancelOutcome): ControlResult {
  switch (outcome) {
    case "requested":
      return { next: "work", runId, isHint: true };
    case "remembered":
    case "ended":
      return { next: "done" };
    case "not_allowed":
      return { next: "reject", rejection: notAllowed(runId, by), runId };
    default:
      return outcome satisfies never;
  }
}

function afterRetry({ runId, by }: Asked, outcome: RetryOutcome): ControlResult {
  switch (outcome) {
    case "ok":
      return { next: "work", runId, isHint: false };
    case "unknown":
      return refused("unknown_run", `there is no run ${runId}`, runId);
    case "running":
      return refused("run_not_ended", `run ${runId} has not ended`, runId);
    case "succeeded":
      return refused("run_succeeded", `run ${runId} has succeeded; start another one`, runId);
    case "not_allowed":
      return { next: "reject", rejection: notAllowed(runId, by), runId };
    default:
      return outcome satisfies never;
  }
}

function afterNews({ runId, by }: Asked, outcome: AppendOutcome): ControlResult {
  switch (outcome) {
    case "taken":
    case "known":
    case "gone":
      return { next: "look", runId };
    case "unknown":
      return refused(
        "unknown_run",
        `there is no run ${runId}; if its start is still in the queue, say it again once it has begun`,
        runId,
      );
    case "ended":
      return refused(
        "run_ended",
        `run ${runId} has ended; run.retry continues a failed one`,
        runId,
      );
    case "not_allowed":
      return { next: "reject", rejection: notAllowed(runId, by), runId };
    default:
      return outcome satisfies never;
  }
}

function notAllowed(runId: string, by: string): Rejection {
  const message = `run ${runId} was not started by ${by}; its requester, cli and admin may`;
  return rejection("not_allowed", message);
}

function refused(code: string, message: string, runId: string): ControlResult {
  return { next: "reject", rejection: rejection(code, message), runId };
}

function rejection(code: string, message: string): Rejection {
  return { code, message, problems: [] };
}
