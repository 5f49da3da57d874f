import type { Bus } from "@switchyard/bus/bus";
import { readEvents } from "@switchyard/bus/events";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { filterOf } from "@switchyard/contracts/define";
import { fullRunId, runTokens } from "@switchyard/contracts/ids";
import type {
  runLimitsChanged,
  runRetried,
  runStarted,
  runSteered,
} from "@switchyard/contracts/agent-runner/run-events";
import { runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { readsAllEvents } from "@switchyard/contracts/user-names";
import { CliError, hintOf } from "./cli-error.ts";
import { payloadOf } from "./run-timeline.ts";

type Answer = typeof runLimitsChanged | typeof runRetried | typeof runStarted | typeof runSteered;

const WAIT_MS = 30_000;

/**
 * Waits for the event that answers a command to a run, found by the command's sequence in its stream. Rejects with the runner's
 * refusal, or when no runner claimed it.
 */
export async function answerOfRun(
  bus: Bus,
  command: {
    readonly runId: string;
    readonly sequence: number;
    readonly answer: Answer;
    /** True when the event is the command's, besides by its sequence. */
    readonly isAnswer?: (event: StoredEvent) => boolean;
  },
): Promise<void> {
  const { runId, sequence, answer, isAnswer = () => false } = command;
  const run = runTokens(fullRunId(bus.user, runId));
  // A refusal is published to the sender of the command; it may not be the run's owner.
  const refusal = filterOf(runRejected, { ...run, owner: bus.user });
  const ofTheRun = run.owner === bus.user ? [`yard.evt.run.${run.owner}.${run.runId}.*`] : null;
  const filters =
    ofTheRun ?? (readsAllEvents(bus.user) ? [filterOf(answer, run), refusal] : [refusal]);
  const signal = AbortSignal.timeout(WAIT_MS);
  for await (const event of readEvents(bus, { filters, from: "beginning", signal })) {
    const rejected = payloadOf(event, runRejected);
    if (rejected?.streamSequence === sequence) {
      const { code, message } = rejected;
      const hint = hintOf({ code });
      throw new CliError(code, message, hint === null ? {} : { hint });
    }
    if (rejected === null && (sequenceOf(event) === sequence || isAnswer(event))) return;
  }
  throw new CliError(
    "timeout",
    `no runner took the command for run ${runId} yet; it stays queued`,
    {
      hint: "look at the runners with: ./yard services",
    },
  );
}

function sequenceOf({ payload }: StoredEvent): unknown {
  return typeof payload === "object" && payload !== null && "streamSequence" in payload
    ? payload.streamSequence
    : null;
}
