import type { Bus } from "@switchyard/bus/bus";
import { publishCommand } from "@switchyard/bus/publish";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import type { Log } from "@switchyard/service/log";
import type { WakeRun } from "../journal/run-controls.ts";
import { isOutage } from "./service-clients.ts";

/** A wake-up that cannot be published is not a failure: the sweeper sends it again. */
export function createRunWaker(bus: Bus, log: Log): WakeRun {
  return async (runId) => {
    try {
      await publishCommand(bus, resumeRun, { runId }, {}, { correlationId: runId });
      return true;
    } catch (err) {
      if (!isOutage(err)) throw err;
      log.warn({ runId, err }, "wake-up not sent");
      return false;
    }
  };
}
