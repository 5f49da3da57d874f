import { randomBytes } from "node:crypto";
import { inputOf } from "@switchyard/contracts/agent-runner/content-parts";
import type { CallContext } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { TOOLBOX_USER } from "@switchyard/contracts/user-names";
import type { z } from "zod";
import { isSameCommand } from "../journal/run-columns.ts";
import { answerOf, type Answered } from "./await-answer.ts";
import { findSession } from "./session-store.ts";
import { labelHolder } from "./list-sessions.ts";
import { placeMessage, type Placement } from "./place-message.ts";
import { rejectionOf } from "./enter-session.ts";
import type { SessionParts } from "./session-parts.ts";
import { unknown } from "./session-handlers.ts";
import type { SessionCommand, SessionState } from "./session-record.ts";

/** The number of callers that wait in one runner; further callers get a reply at once that the message was accepted. */
const MAX_WAITING = 64;
/** The part of a caller's deadline that is reserved for the reply itself. */
const REPLY_MS = 500;

type Request = z.output<typeof sendToSession.request>;
type Context = CallContext<typeof sendToSession>;

interface Sent {
  readonly session: SessionState;
  readonly runId: string;
  readonly placed: "started" | "queued" | "steered";
}

/** Accepts messages outside the queue, and waits for the answer when the caller requests it. */
export function handleSessionMessages(service: Service, parts: SessionParts): void {
  let waiting = 0;
  service.handle(sendToSession, async (request, context) => {
    const sent = await send(parts, request, context);
    const { sessionId, key: sessionKey } = sent.session;
    const { runId, placed } = sent;
    const facts = { sessionId, sessionKey, runId, placed };
    const untilMs = Math.min(
      parts.now() + request.timeoutSeconds * 1_000,
      context.deadline - REPLY_MS,
    );
    if (request.timeoutSeconds === 0 || waiting >= MAX_WAITING)
      return { status: "accepted" as const, ...facts };
    waiting += 1;
    try {
      const { signal } = context;
      return { ...replyOf(await answerOf(parts, { sessionId, runId, untilMs, signal })), ...facts };
    } finally {
      waiting -= 1;
    }
  });
}

async function send(parts: SessionParts, request: Request, context: Context): Promise<Sent> {
  const { caller, fail, tokens } = context;
  const field = (["followUp", "sender"] as const).find((name) => request[name] !== undefined);
  if (field !== undefined && tokens.caller !== TOOLBOX_USER)
    throw fail.not_allowed(`only the toolbox may set ${field}; leave it out`, { field });
  const ref = await refOf(parts, request, context);
  const found = await findSession(parts.store, { ref, caller, owner: request.owner });
  const agent = request.agent ?? found?.session.agent;
  const data = { session: ref };
  if (agent === undefined) {
    if (request.label !== undefined || (request.owner ?? caller) !== caller)
      throw fail.unknown_session(unknown(ref), data);
    throw fail.agent_required(`session ${ref} is new; name the agent that is to answer`, data);
  }
  // Uses the id, so that a session that is deleted meanwhile is not begun again.
  const session = found?.session.sessionId ?? ref;
  if (request.runId !== undefined && ownerOfRun(fullRunId(caller, request.runId)) !== caller)
    throw fail.run_id_taken(
      `run ${request.runId} would be another owner's; leave the part up to ~ out`,
      { runId: request.runId },
    );
  const command = commandOf(request, { agent, session, caller, nowMs: parts.now() });
  // An id that was made just now belongs to no other run.
  const isNamed = request.runId !== undefined;
  const known = isNamed ? await ranBefore(parts, command, context) : null;
  if (known !== null && found !== null)
    return { session: found.session, runId: command.runId, placed: "started" };
  const { onBusy, owner, skillsOff } = request;
  await parts.storage.admit(owner ?? caller);
  const content = { ref: session, caller, owner, found, command, onBusy, skillsOff };
  const placement = await placeMessage(parts, content);
  return sentOf(parts, { placement, command, ref }, context);
}

/** Resolves a label, the session's second name, which only its owner may use. */
async function refOf(
  parts: SessionParts,
  { session, label, owner }: Request,
  { caller, fail }: Context,
): Promise<string> {
  if (session !== undefined) return session;
  const wanted = label ?? "";
  const named = await labelHolder(parts, owner ?? caller, wanted);
  const ref = named?.sessionId ?? "";
  if (named !== null && (await findSession(parts.store, { ref, caller })) !== null) return ref;
  throw fail.unknown_session(`No session found with label: ${wanted}`, { session: wanted });
}

function commandOf(
  { message, files, model, thinking, skill, limits, onBusy, runId, followUp, sender }: Request,
  by: { readonly agent: string; readonly session: string; caller: string; nowMs: number },
): SessionCommand {
  const { agent, session, caller, nowMs } = by;
  const content = {
    input: inputOf(message, files),
    session,
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(skill === undefined ? {} : { skill }),
    ...(limits === undefined ? {} : { limits }),
    ...(onBusy === undefined ? {} : { onBusy }),
    ...labelsOf(followUp),
  };
  const id = fullRunId(caller, runId ?? `run-${randomBytes(13).toString("hex")}`);
  return {
    runId: id,
    agent,
    requester: caller,
    payload: { ...content, runId: id },
    digest: canonicalDigest({ agent, requester: caller, asked: content }),
    ...(followUp === undefined ? {} : { followUp }),
    ...(sender === undefined ? {} : { sender, broughtBy: TOOLBOX_USER }),
    message: {
      subject: `yard.rpc.${caller}.sessions.send`,
      caller,
      streamSequence: 0,
      messageId: null,
      publishedAt: new Date(nowMs).toISOString(),
    },
  };
}

/** The labels that show a reader of the run from which session its message came. */
function labelsOf(followUp: Request["followUp"]): { labels?: Record<string, string> } {
  if (followUp === undefined || followUp.kind === "tell") return {};
  const { session } = followUp.kind === "announce" ? followUp.to : followUp.requester;
  const tool = followUp.kind === "announce" ? "sessions_spawn" : "sessions_send";
  return { labels: { provenance: "inter_session", sourceSession: session, sourceTool: tool } };
}

/** Recognises a message whose run exists already; refuses another message under its id. */
async function ranBefore(
  parts: SessionParts,
  { runId, digest }: SessionCommand,
  { fail }: Context,
): Promise<true | null> {
  const known = await parts.runs.digest(runId);
  if (known === null) return null;
  if (isSameCommand(known, digest)) return true;
  throw fail.run_id_taken(`run ${runId} is another one; choose another runId`, { runId });
}

async function sentOf(
  parts: SessionParts,
  sent: { readonly placement: Placement; readonly command: SessionCommand; readonly ref: string },
  { fail }: Context,
): Promise<Sent> {
  const { placement, command, ref } = sent;
  const { runId } = command;
  switch (placement.outcome) {
    case "go": {
      const { session } = placement;
      return { session, runId, placed: "started" };
    }
    case "queued":
      return { session: placement.session, runId, placed: "queued" };
    case "steered":
      return { session: placement.session, runId: placement.into, placed: "steered" };
    case "busy": {
      const { activeRun } = placement;
      const { message } = rejectionOf(parts, ref, placement);
      throw fail.session_busy(message, { session: ref, activeRun });
    }
    case "full": {
      const { maxQueued: limit } = parts.limits;
      const { message } = rejectionOf(parts, ref, placement);
      throw fail.session_queue_full(message, { session: ref, limit });
    }
    case "too_many": {
      const { message } = rejectionOf(parts, ref, placement);
      throw fail.too_many_sessions(message, { limit: parts.limits.maxPerOwner });
    }
    case "taken":
      throw fail.run_id_taken(rejectionOf(parts, ref, placement).message, { runId });
    case "unknown":
      throw fail.unknown_session(unknown(ref), { session: ref });
    default:
      return placement satisfies never;
  }
}

function replyOf(answered: Answered | null) {
  if (answered === null) return { status: "timeout" as const };
  if ("output" in answered) return { status: "ok" as const, reply: answered.output };
  return { status: "error" as const, error: answered.failure };
}
