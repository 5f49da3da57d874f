import type { Service } from "@switchyard/bus/serve";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { inputOf } from "@switchyard/contracts/agent-runner/content-parts";
import type { Fail } from "@switchyard/contracts/errors";
import { fullRunId } from "@switchyard/contracts/ids";
import {
  deliverToSession,
  sessionOutcome,
} from "@switchyard/contracts/agent-runner/session-delivery";
import type { z } from "zod";
import { isSameCommand } from "../journal/run-columns.ts";
import { lookForAnswer } from "./await-answer.ts";
import { findSession } from "./session-store.ts";
import { placeMessage, type Placement } from "./place-message.ts";
import { rejectionOf } from "./enter-session.ts";
import type { SessionParts } from "./session-parts.ts";
import type { SessionCommand } from "./session-record.ts";

/**
 * Accepts messages that services deliver in the name of an owner. NATS lets no client send this request, so `owner` and
 * `origin` are trusted.
 */
export function handleDeliveries(service: Service, parts: SessionParts): void {
  service.handle(deliverToSession, async (request, { caller, fail }) => {
    const { owner, session: ref, onBusy } = request;
    const command = commandOf(request, { broughtBy: caller, nowMs: parts.now() });
    const [known, found] = await Promise.all([
      parts.runs.digest(command.runId),
      findSession(parts.store, { ref, caller: owner }),
    ]);
    if (known !== null && !isSameCommand(known, command.digest)) throw taken(command.runId, fail);
    if (known !== null && found !== null)
      return { ...namesOf(found.session), runId: command.runId, placed: "started" as const };
    await parts.storage.admit(owner);
    const placement = await placeMessage(parts, { ref, caller: owner, found, command, onBusy });
    return placedOf(parts, { placement, command, ref }, fail);
  });

  service.handle(sessionOutcome, async ({ sessionId, runId }) => {
    const answered = await lookForAnswer(parts, { sessionId, runId });
    if (answered === null) return { status: "pending" as const };
    if ("output" in answered) {
      const { output, isSent } = answered;
      return { status: "ok" as const, output, ...(isSent && { isSent: true as const }) };
    }
    return { status: "error" as const, failure: answered.failure };
  });
}

function commandOf(
  {
    owner,
    session,
    agent,
    message,
    files,
    runId,
    origin,
    onBusy,
  }: z.output<typeof deliverToSession.request>,
  { broughtBy, nowMs }: { readonly broughtBy: string; readonly nowMs: number },
): SessionCommand {
  const content = {
    input: inputOf(message, files),
    session,
    ...(origin === undefined ? {} : { origin }),
    ...(onBusy === undefined ? {} : { onBusy }),
  };
  const id = fullRunId(owner, runId);
  return {
    runId: id,
    agent,
    requester: owner,
    payload: { ...content, runId: id },
    digest: canonicalDigest({ agent, requester: owner, asked: content }),
    broughtBy,
    message: {
      subject: `yard.rpc.${broughtBy}.sessions.deliver`,
      caller: owner,
      streamSequence: 0,
      messageId: null,
      publishedAt: new Date(nowMs).toISOString(),
    },
  };
}

async function placedOf(
  parts: SessionParts,
  sent: { readonly placement: Placement; readonly command: SessionCommand; readonly ref: string },
  fail: Fail<typeof deliverToSession.errors>,
) {
  const { placement, command, ref } = sent;
  const { runId } = command;
  switch (placement.outcome) {
    case "go":
      return { ...namesOf(placement.session), runId, placed: "started" as const };
    case "queued":
      return { ...namesOf(placement.session), runId, placed: "queued" as const };
    case "steered":
      return { ...namesOf(placement.session), runId: placement.into, placed: "steered" as const };
    case "busy": {
      const { message } = rejectionOf(parts, ref, placement);
      throw fail.session_busy(message, { session: ref, activeRun: placement.activeRun });
    }
    case "full": {
      const { message } = rejectionOf(parts, ref, placement);
      throw fail.session_queue_full(message, { session: ref, limit: parts.limits.maxQueued });
    }
    case "too_many": {
      const { message } = rejectionOf(parts, ref, placement);
      throw fail.too_many_sessions(message, { limit: parts.limits.maxPerOwner });
    }
    case "taken":
    case "unknown": // a key is never unknown to its owner
      throw taken(runId, fail);
    default:
      return placement satisfies never;
  }
}

function taken(runId: string, fail: Fail<typeof deliverToSession.errors>): Error {
  return fail.run_id_taken(`run ${runId} is another one; choose another runId`, { runId });
}

function namesOf({
  sessionId,
  key: sessionKey,
}: {
  readonly sessionId: string;
  readonly key: string;
}) {
  return { sessionId, sessionKey };
}
