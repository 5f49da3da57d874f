import type { Bus } from "@switchyard/bus/bus";
import { lastEventText } from "@switchyard/bus/last-event";
import { subjectOf } from "@switchyard/contracts/define";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { runMerged, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { endOf, readRunEvent, type RunEnd } from "./run-event.ts";

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
