import { call } from "@switchyard/bus/call";
import type { CallOptions } from "@switchyard/bus/call-options";
import type { Bus } from "@switchyard/bus/bus";
import { isError } from "@switchyard/contracts/errors";
import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import type { z } from "zod";
import type { User } from "../identity/user-cache.ts";
import type { AcceptedRuns } from "./accepted-runs.ts";

/**
 * Returns a run from the runners; the caller's own run that no runner has started is described by its accepted command. Rejects
 * with a ServiceError.
 */
export async function readRun(
  { bus, accepted }: { readonly bus: Bus; readonly accepted: AcceptedRuns },
  { caller }: User,
  {
    request,
    options,
  }: {
    readonly request: z.output<typeof getRun.request>;
    readonly options: Pick<CallOptions, "userToken" | "correlationId" | "signal">;
  },
): Promise<z.input<typeof getRun.reply>> {
  try {
    return await call(bus, getRun, request, options);
  } catch (error) {
    if (!isError(error, getRun, "unknown_run")) throw error;
    const runId = fullRunId(caller, request.runId);
    if (error.data.isDeleted === true) {
      await accepted.forget(runId);
      throw error;
    }
    const run = ownerOfRun(runId) === caller ? await accepted.find(runId) : null;
    if (run === null) throw error;
    return { run };
  }
}
