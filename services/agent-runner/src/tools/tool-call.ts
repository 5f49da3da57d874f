import type { Bus } from "@switchyard/bus/connect";
import { callTool } from "@switchyard/contracts/mcp";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import type { UnknownOutcome } from "@switchyard/contracts/agents";
import type { ApprovalRequired } from "@switchyard/contracts/approvals";
import { builtinTimeoutMs } from "@switchyard/contracts/toolbox";
import { renderSkill } from "@switchyard/contracts/skills";
import { cutWithNote } from "./cut-text.ts";
import { backoffMs, CancelRequested, pause, Suspended, TimeOver } from "../run/interruption.ts";
import type { EntryOf, SkillRef } from "../journal/journal-entry.ts";
import { FenceLost } from "../journal/run-store.ts";
import type { Peers } from "../peers.ts";
import { watchReconnect } from "../run/reconnect-watch.ts";
import type { RunTokenKeeper } from "../run/run-token-keeper.ts";
import { SkillToolInput } from "./skill-tool.ts";

/** The most of one result that is kept; a model sees a part of it at a time. */
export const KEPT_BYTES = 1_024 * 1_024;

/** How a call ended, as its journal entry without the time. */
export type CallOutcome = WithoutTime<
  EntryOf<"tool-completed"> | EntryOf<"tool-denied"> | EntryOf<"tool-failed">
>;
type WithoutTime<E> = E extends unknown ? Omit<E, "at"> : never;

/** The entry of a call that waits from now on, without its time. */
export type Parked = WithoutTime<EntryOf<"tool-parked">>;

/** What became of one attempt at a call. */
export type CallStep = CallOutcome | Parked;

export interface ServerCall {
  readonly callId: string;
  /** Null for a built-in tool: the toolbox has it. */
  readonly server: string | null;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** False when no catalogue has the tool: then nobody answering means that it does not exist. */
  readonly isListed: boolean;
  /** Whether a call whose outcome nobody knows is made once more, under another id. */
  readonly onUnknownOutcome: UnknownOutcome;
}

export interface ToolCaller {
  readonly bus: Pick<Bus, "status">;
  readonly peers: Peers;
  readonly tokens: RunTokenKeeper;
  readonly runId: string;
  /** Of this runner's hold of the run: providers refuse a lower one than they have seen. */
  readonly epoch: number;
  /** Ends the waiting, with its reason. */
  readonly signal: AbortSignal;
  /** No call lasts longer than this, in milliseconds since the Unix epoch. */
  readonly deadline: number;
  readonly now: () => number;
}

/**
 * Calls a tool through its provider: the broker or the toolbox, whose errors have the same names. Every
 * failure of the tool, the policy or the provider is an outcome that the model is told; the promise rejects only when the run must stop or pause.
 * Repeats carry the same call id, so the provider executes the call once; only a call whose outcome is
 * unknown gets another, where the agent wants it repeated.
 */
export async function callServerTool(call: ServerCall, caller: ToolCaller): Promise<CallStep> {
  let deadline = Math.min(caller.now() + timeoutOf(call), caller.deadline);
  let hasAskedAgain = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(call, caller, deadline);
    } catch (error) {
      caller.signal.throwIfAborted();
      if (isError(error, callTool, "denied")) {
        return { kind: "tool-denied", callId: call.callId, decision: error.data };
      }
      if (isError(error, callTool, "approval_required")) return parkFor(call.callId, error.data);
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === "outcome_unknown" && call.onUnknownOutcome === "retry")
        return callAgain(call, caller);
      if (error.code === "outcome_unknown" && call.onUnknownOutcome === "ask")
        return askAboutOutcome(call, caller.now());
      if (error.code === "timeout" && !hasAskedAgain) {
        // The reply may be lost while the broker has the result: it answers a repeat at once.
        hasAskedAgain = true;
        deadline = Math.min(caller.now() + ASK_AGAIN_MS, caller.deadline);
        continue;
      }
      const isLate = caller.now() + backoffMs(attempt, BACKOFF_CAP_MS) >= deadline;
      if (error.code === "disconnected" && isLate) {
        throw new Suspended("the bus has been down for the length of a tool call", {
          cause: error,
        });
      }
      if (isLate || attempt >= attemptsFor(error, call)) return failed(call.callId, error);
    }
    await pause(backoffMs(attempt, BACKOFF_CAP_MS), caller.signal);
  }
}

/** Makes a call once more whose outcome nobody knows. */
export async function callAgain(call: ServerCall, caller: ToolCaller): Promise<CallStep> {
  const repeat = { ...call, callId: `${call.callId}:again`, onUnknownOutcome: "fail" as const };
  const step = await callServerTool(repeat, caller);
  const { callId } = call;
  if (step.kind !== "tool-parked" || step.wait.reason !== "approval") return { ...step, callId };
  return { ...step, callId, wait: { ...step.wait, again: true } };
}

/** The id of the call that a provider knows by this id. */
export function firstCallId(callId: string): string {
  return callId.replace(/:again$/, "");
}

function timeoutOf({ server, tool, args }: ServerCall): number {
  return server === null ? builtinTimeoutMs(tool, args) : callTool.timeoutMs;
}

const BACKOFF_CAP_MS = 2_000;
const ASK_AGAIN_MS = 5_000;

/** Activates a skill: the importer renders it, and its text is the result of the call. */
export async function callSkillTool(
  call: {
    readonly callId: string;
    readonly args: unknown;
    readonly catalogue: readonly SkillRef[];
  },
  caller: ToolCaller,
): Promise<CallOutcome> {
  const { callId, catalogue } = call;
  const input = SkillToolInput.safeParse(call.args);
  if (!input.success) {
    const problems = input.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    return failure(callId, "invalid_arguments", `skill: ${problems.join("; ")}`);
  }
  const pinned = catalogue.find((skill) => skill.name === input.data.name);
  if (pinned === undefined) {
    const known = catalogue.map((skill) => skill.name).join(", ") || "none";
    return answered(callId, {
      text: `there is no skill ${input.data.name}; available are ${known}`,
      isError: true,
    });
  }
  const startedAt = caller.now();
  try {
    const { text, name, digest } = await caller.peers.renderSkill(
      {
        name: pinned.name,
        digest: pinned.digest,
        arguments: input.data.arguments,
        sessionId: caller.runId,
      },
      { signal: caller.signal, correlationId: caller.runId },
    );
    const durationMs = Math.max(0, caller.now() - startedAt);
    return answered(callId, { text, isError: false, durationMs, skill: { name, digest } });
  } catch (error) {
    caller.signal.throwIfAborted();
    if (isError(error, renderSkill, "unknown_skill")) {
      return answered(callId, {
        text: `skill ${pinned.name} is not there any more`,
        isError: true,
      });
    }
    if (error instanceof ServiceError) return failed(callId, error);
    throw error;
  }
}

/** The outcome of a call that was never sent, because nobody could carry it out. */
export function failure(callId: string, code: string, message: string): CallOutcome {
  return { kind: "tool-failed", callId, code, message: cutWithNote(message, 4_096) };
}

function parkFor(callId: string, { approvalId, expiresAt }: ApprovalRequired): Parked {
  const wait = { reason: "approval" as const, approvalId, until: expiresAt };
  return { kind: "tool-parked", callId, wait };
}

const ASK_ABOUT_MS = 24 * 3_600_000;

function askAboutOutcome({ callId, tool }: ServerCall, now: number): Parked {
  return {
    kind: "tool-parked",
    callId,
    wait: {
      reason: "question",
      about: "outcome",
      question: `Nobody knows whether ${tool} was carried out. Look, and say: retry makes the call once more, fail goes on without it.`,
      options: ["retry", "fail"],
      until: new Date(now + ASK_ABOUT_MS).toISOString(),
    },
  };
}

async function sendOnce(
  { callId, server, tool, args }: ServerCall,
  caller: ToolCaller,
  deadline: number,
): Promise<CallOutcome> {
  const token = await caller.tokens.get();
  const watch = watchReconnect(caller.bus);
  const signal = AbortSignal.any([caller.signal, watch.signal]);
  try {
    const { epoch, runId } = caller;
    const limits = { deadline, signal, correlationId: runId };
    const request = { tool, args, token, callId, epoch };
    const reply =
      server === null
        ? await caller.peers.callBuiltin(request, limits)
        : await caller.peers.callTool(
            { ...request, progress: runId },
            { ...limits, tokens: { server } },
          );
    return answered(callId, reply);
  } catch (error) {
    if (isError(error, callTool, "invalid_token")) caller.tokens.refuse(token);
    if (isError(error, callTool, "stale_epoch"))
      throw new FenceLost(`another runner has run ${caller.runId}`, { cause: error });
    if (endsTheCall(caller.signal)) stopAtProvider({ callId, server, token }, caller);
    if (!watch.signal.aborted) throw error;
    throw new ServiceError("disconnected", "the bus was away while the call was under way", {
      cause: error,
    });
  } finally {
    watch.stop();
  }
}

/** A run that is handed over or lost goes on elsewhere with the same call; only these two end it. */
function endsTheCall({ aborted, reason }: AbortSignal): boolean {
  return aborted && (reason instanceof CancelRequested || reason instanceof TimeOver);
}

/** Nobody waits for it: the run ends either way, and a provider that is away has its own deadline. */
function stopAtProvider(
  { callId, server, token }: { callId: string; server: string | null; token: string },
  { peers, runId }: ToolCaller,
): void {
  const limits = { correlationId: runId };
  const asked =
    server === null
      ? peers.cancelBuiltin({ callId, token }, limits)
      : peers.cancelCall({ callId, token }, { ...limits, tokens: { server } });
  asked.catch(() => undefined);
}

/** The outcome of a call that has a result. */
export function answered(
  callId: string,
  reply: {
    text: string;
    isError: boolean;
    decision?: EntryOf<"tool-completed">["decision"];
    durationMs?: number;
    replayed?: boolean;
    skill?: SkillRef;
    /** Tools that the call found. */
    found?: string[];
  },
): CallOutcome {
  return {
    kind: "tool-completed",
    callId,
    text: cutWithNote(reply.text, KEPT_BYTES),
    textBytes: Buffer.byteLength(reply.text),
    isError: reply.isError,
    decision: reply.decision ?? null,
    durationMs: reply.durationMs ?? 0,
    replayed: reply.replayed ?? false,
    skill: reply.skill ?? null,
    ...(reply.found === undefined ? {} : { found: reply.found }),
  };
}

function failed(callId: string, error: ServiceError): CallOutcome {
  return failure(callId, error.code, error.message);
}

const MANY = Number.POSITIVE_INFINITY;

/** How often a call is sent at most: failures in front of the tool may pass, the tool's own stand. */
function attemptsFor(error: ServiceError, call: ServerCall): number {
  switch (error.code) {
    case "disconnected":
      return MANY; // our own connection is being restored
    case "invalid_token":
      return 2; // with a new token
    case "no_responders":
      return call.isListed ? 6 : 1;
    case "policy_unavailable":
    case "overloaded":
    case "server_overloaded":
    case "circuit_open":
    case "not_owner":
    case "owned_elsewhere":
    case "lease_unavailable":
      return 6;
    default:
      return 1;
  }
}
