import { createHash } from "node:crypto";
import { call } from "@switchyard/bus/call";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { sendChannelMessage } from "@switchyard/contracts/channels/channels";
import { ServiceError } from "@switchyard/contracts/errors";
import { fullRunId } from "@switchyard/contracts/ids";
import { RUNNER_USER, TOOLBOX_USER } from "@switchyard/contracts/user-names";
import { followUpOf, type FollowUp } from "../core/follow-up.ts";
import type { RunState } from "../core/run-state.ts";
import { isOutage } from "../context/service-clients.ts";
import { Suspended } from "../core/interruption.ts";
import { endSession } from "./end-session.ts";
import { placeMessage } from "./place-message.ts";
import type { SessionParts } from "./session-parts.ts";
import type { SessionCommand } from "./session-record.ts";
import { slotOfId } from "./session-slot.ts";

/** After this time the message is dropped as too late; its text is in the session of the run. */
const TIMEOUT_MS = 3_600_000;
const SEND_MS = 25_000;

type Say = Extract<FollowUp, { kind: "say" }>;
type ReportFollowUp = Extract<FollowUp, { kind: "tell" }>;

/**
 * Sends the message that follows the end of a run to another session or a chat. The runner does it before it acknowledges the
 * run's message, so at least once, and under an id derived from the end, so a repeat is the same message. Rejects with
 * Suspended while it cannot be done.
 */
export async function followEnd(parts: SessionParts, state: RunState): Promise<void> {
  const next = followUpOf(state);
  if (next === null) return;
  const { runId } = state.started;
  const problem = await (next.kind === "say"
    ? sayNext(parts, state, next)
    : sendReport(parts, state, next));
  if (problem === null) return;
  if (problem.mayPass && parts.now() - Date.parse(state.updatedAt) < TIMEOUT_MS)
    throw new Suspended(problem.reason);
  parts.log.warn({ runId, why: problem.reason }, "what follows a run is given up");
}

interface Problem {
  readonly reason: string;
  readonly mayPass: boolean;
}

async function sayNext(parts: SessionParts, state: RunState, say: Say): Promise<Problem | null> {
  const { requester, session } = state.started;
  const command = commandOf(state, say, parts.now());
  const request = { ref: say.session, caller: requester, command, onBusy: "enqueue" } as const;
  const placement = await placeMessage(parts, request);
  switch (placement.outcome) {
    case "go":
    case "queued":
    case "steered":
      break;
    case "full":
      return { reason: `too many messages wait in session ${say.session}`, mayPass: true };
    case "busy":
    case "taken":
    case "too_many":
    case "unknown":
      return { reason: `session ${say.session}: ${placement.outcome}`, mayPass: false };
    default:
      return placement satisfies never;
  }
  if (say.endsSession && session !== undefined) await endUnused(parts, requester, session);
  return null;
}

function commandOf(state: RunState, say: Say, nowMs: number): SessionCommand {
  const { requester, runId: from, session, sender } = state.started;
  const { agent, message, followUp } = say;
  const runId = fullRunId(requester, `follow-${idOf(state)}`);
  // The labels show a reader of the run its origin.
  const labels = {
    provenance: "inter_session",
    sourceRun: from,
    ...(session !== undefined && { sourceSession: session.key }),
  };
  const content = { input: message, session: say.session, labels };
  return {
    runId,
    agent,
    requester,
    payload: { ...content, runId },
    digest: canonicalDigest({ agent, requester, asked: content }),
    ...(followUp !== undefined && { followUp }),
    // The answer of a run of limited rights must not direct a run with more.
    ...(sender !== undefined && { sender, broughtBy: TOOLBOX_USER }),
    message: {
      subject: `yard.rpc.${RUNNER_USER}.sessions.send`,
      caller: requester,
      streamSequence: 0,
      messageId: null,
      publishedAt: new Date(nowMs).toISOString(),
    },
  };
}

/** A retry of the run has another end, and so another id. */
function idOf({ started, length }: RunState): string {
  return createHash("sha256").update(`${started.runId}\n${length}`).digest("hex").slice(0, 26);
}

/** Ends the session unless a new message has started a run in it meanwhile. */
async function endUnused(
  parts: SessionParts,
  owner: string,
  { sessionId }: { readonly sessionId: string },
): Promise<void> {
  const slot = slotOfId(sessionId);
  if (slot === null) return;
  const wanted = { sessionId, reason: "deleted" as const, by: owner };
  await endSession(parts, { slot, owner }, { ...wanted, may: ({ active }) => active === null });
}

/** Sends the answer of an agent to the chat of its session. Repeated attempts produce one message. */
async function sendReport(
  { bus }: SessionParts,
  state: RunState,
  { chat, text }: ReportFollowUp,
): Promise<Problem | null> {
  const { requester, runId, session } = state.started;
  const request = {
    onBehalfOf: requester,
    to: chat,
    text,
    idempotencyKey: `follow:${idOf(state)}`,
    runId,
    ...(session !== undefined && { sessionKey: session.key }),
  };
  try {
    await call(bus, sendChannelMessage, request, { timeoutMs: SEND_MS });
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const reason = `${error.code}: ${error.message}`;
    return { reason, mayPass: isOutage(error) || error.code === "rate_limited" };
  }
}
