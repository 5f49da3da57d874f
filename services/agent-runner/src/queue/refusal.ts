import type { Outcome } from "@switchyard/bus/delivery";
import { notifyParent } from "../waits/after-end.ts";
import type { DeadText } from "../commands/dead-letters.ts";
import { publishRejection } from "../commands/rejection.ts";
import type { MessageFacts, Rejection } from "../commands/run-command.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { leaveSession } from "../sessions/enter-session.ts";
import type { Refused } from "./next-stage.ts";

/**
 * Publishes why a message is refused, and removes it from the queue. Neither a parent nor a session that waits for its run may wait
 * for ever.
 */
export async function refuse(
  {
    message,
    runId,
    parent,
    sessionId,
    isRepeat,
  }: Refused & {
    readonly message: MessageFacts;
    /** True when an earlier delivery may have reported it. */
    readonly isRepeat: boolean;
  },
  rejection: Rejection,
  parts: RunnerParts,
): Promise<Outcome> {
  const { code } = rejection;
  if (runId !== null && parent !== undefined) {
    const at = new Date(parts.now()).toISOString();
    const text = `${code}: ${rejection.message}`;
    const end = { parent, childRunId: runId, at, status: "failed", text } as const;
    await notifyParent(parts.controls, end);
  }
  const said = await publishRejection(message, { rejection, runId, isRepeat }, parts);
  parts.metrics.rejected.inc({ code });
  parts.log.warn(
    { runId: said.runId, caller: said.caller, code, subject: said.subject },
    "run command rejected",
  );
  if (runId !== null && sessionId !== null)
    await leaveSession(parts.sessions, { sessionId, runId }, rejection);
  return { outcome: "drop", reason: code };
}

/** Lists a command that runners died of, and publishes to its sender that it was given up. */
export async function listAsDead(
  {
    message,
    runId,
    deaths,
    text,
  }: {
    readonly message: MessageFacts;
    readonly runId: string;
    readonly deaths: number;
    /** Null when the original cannot be sent again. */
    readonly text: DeadText | null;
  },
  { letters }: RunnerParts,
): Promise<Rejection> {
  const { subject, caller, streamSequence, publishedAt } = message;
  const said = `${deaths} runners died while they worked on the command, or failed with an internal error; look for the cause in their logs, fix it and send the command again, or have it sent again with runs.redrive`;
  const failure = { code: "too_many_attempts", message: said };
  const sentAt = publishedAt.toISOString();
  await letters.add({ runId, subject, caller, streamSequence, sentAt, failure }, text);
  return { ...failure, problems: [] };
}
