import type { Outcome } from "@switchyard/bus/delivery";
import { notifyParent } from "../waits/after-end.ts";
import type { DeadText } from "../commands/dead-letters.ts";
import { publishRejection } from "../commands/rejection.ts";
import type { MessageFacts, Rejection, RunCommand } from "../commands/run-command.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { leaveSession } from "../sessions/enter-session.ts";

/** The message or command that is refused. */
interface Refused {
  readonly message: MessageFacts;
  /** Null when the message names no run. */
  readonly runId: string | null;
  /** True when an earlier delivery may have reported it. */
  readonly isRepeat: boolean;
}

/** Publishes why a message is rejected, and removes it from the queue. */
export async function reject(
  { message, runId, isRepeat }: Refused,
  rejection: Rejection,
  parts: RunnerParts,
): Promise<Outcome> {
  const { metrics, log } = parts;
  const { code } = rejection;
  const said = await publishRejection(message, { rejection, runId, isRepeat }, parts);
  metrics.rejected.inc({ code });
  log.warn(
    { runId: said.runId, caller: said.caller, code, subject: said.subject },
    "run command rejected",
  );
  return { outcome: "drop", reason: code };
}

/** Does the same for a command that was to become a run: neither a parent nor a session that waits for it may wait for ever. */
export async function refuse(
  refused: Refused & {
    readonly runId: string;
    readonly parent: RunCommand["parent"];
    readonly sessionId: string | null;
  },
  rejection: Rejection,
  parts: RunnerParts,
): Promise<Outcome> {
  const { runId, parent, sessionId } = refused;
  if (parent !== undefined) {
    const at = new Date(parts.now()).toISOString();
    const text = `${rejection.code}: ${rejection.message}`;
    const end = { parent, childRunId: runId, at, status: "failed", text } as const;
    await notifyParent(parts.controls, end);
  }
  const outcome = await reject(refused, rejection, parts);
  if (sessionId !== null) await leaveSession(parts.sessions, { sessionId, runId }, rejection);
  return outcome;
}

/** Lists a command that runners died of, and publishes to its sender that it was given up. */
export async function listAsDead(
  {
    message,
    runId,
    deaths,
    text,
  }: Omit<Refused, "isRepeat" | "runId"> & {
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
