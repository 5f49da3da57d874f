import { lastMessageId } from "@switchyard/bus/last-event";
import { subjectOf } from "@switchyard/contracts/define";
import { RUNNER_USER, SCHEDULER_USER } from "@switchyard/contracts/user-names";
import { ownerOfRun, runTokens } from "@switchyard/contracts/ids";
import { runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { shownText } from "../core/event-facts.ts";
import { publishNoted, type NotedParts } from "../journal/publish-noted.ts";
import { madeRunId, type MessageFacts, type Rejection } from "./run-command.ts";
import { ServiceError } from "@switchyard/contracts/errors";
import { StorageFull } from "@switchyard/contracts/store-errors";

const MAX_PROBLEMS = 20;

/**
 * Publishes why a command was refused, under the run id that the command names or a generated one. The message id is derived
 * from the command's position in its stream, so a repeat after a crash is stored once, however late it comes.
 */
export async function publishRejection(
  message: MessageFacts,
  facts: {
    readonly rejection: Rejection;
    readonly runId: string | null;
    /** True when an earlier delivery of the command may have published it. */
    readonly isRepeat: boolean;
  },
  parts: NotedParts,
): Promise<{ readonly runId: string; readonly caller: string; readonly subject: string }> {
  const { subject, caller, streamSequence, messageId, publishedAt, redrivenAt } = message;
  const { code, problems } = facts.rejection;
  const runId = facts.runId ?? madeRunId(message);
  // The rejection goes to the sender of the command, never to the owner of the run whose id it names. A command that a runner or the
  // scheduler sent concerns another user's run, so it goes to that run's owner.
  const tokens = runTokens(
    runId,
    caller === RUNNER_USER || caller === SCHEDULER_USER ? (ownerOfRun(runId) ?? caller) : caller,
  );
  const payload = {
    runId,
    subject,
    caller,
    code,
    message: shownText(facts.rejection.message, 4_096),
    problems: problems.slice(0, MAX_PROBLEMS).map((problem) => shownText(problem, 1_024)),
    streamSequence,
    messageId: messageId === null ? null : shownText(messageId, 256),
    at: new Date(parts.now()).toISOString(),
  };
  const baseId = `rejected:${caller}:${streamSequence}:${publishedAt.getTime()}`;
  const eventId = redrivenAt === undefined ? baseId : `${baseId}:${redrivenAt}`;
  const isSaid =
    facts.isRepeat && (await lastMessageId(parts.bus, subjectOf(runRejected, tokens))) === eventId;
  if (!isSaid) {
    const ids = { messageId: eventId, correlationId: runId };
    await publishNoted({ contract: runRejected, tokens, payload, ...ids }, parts);
  }
  return { runId, caller, subject };
}

/** The rejection of a command for lack of storage, and whose limit is reached; null for any other error. */
export function storageRefusalOf(
  error: unknown,
): { readonly rejection: Rejection; readonly scope: StorageFull["scope"] } | null {
  if (!(error instanceof ServiceError) || error.code !== "storage_full") return null;
  const { code, message } = error;
  const { scope } = StorageFull.parse(error.data);
  return { rejection: { code, message, problems: [] }, scope };
}
