import type { Service } from "@switchyard/bus/serve";
import { deleteRun, deleteRuns } from "@switchyard/contracts/agent-runner/run-deletion";
import { controlledRun, isAdmin } from "../journal/run-access.ts";
import type { RunDeletion } from "../journal/run-deletion.ts";
import { unlessUnrecorded, type RecordAction } from "./action-audit.ts";

interface DeletionParts {
  readonly deletion: RunDeletion;
  readonly record: RecordAction;
}

/** Deletes runs by request. Each run that may be deleted is recorded by its id before that. */
export function handleDeletions(service: Service, { deletion, record }: DeletionParts): void {
  service.handle(deleteRun, async (request, { caller, correlationId, fail }) => {
    const runId = controlledRun(caller, request.runId);
    // The run of another owner is as absent as one that does not exist.
    if (runId === null) return { runId: request.runId, outcome: "absent" as const };
    const action = { caller, operation: deleteRun.name, about: runId, correlationId };
    const deleting = record(action, async () => {
      const done = await deletion.delete(runId, caller);
      if (done.outcome !== "not_ended") return { runId, outcome: done.outcome };
      const { status } = done;
      throw fail.run_not_ended(
        `run ${runId}, or the run that it works for, is ${status}; cancel it and delete it when it has ended`,
        { runId, status },
      );
    });
    return unlessUnrecorded(deleting, fail);
  });

  service.handle(deleteRuns, async (request, { caller, correlationId, fail }) => {
    const { owner = caller, before, limit, cursor = null } = request;
    if (owner !== caller && !isAdmin(caller))
      throw fail.not_allowed(
        `${caller} may not delete runs of ${owner}; ${owner}, cli and admin may`,
        {
          owner,
        },
      );
    const { rows, next } = await deletion.owned({ owner, before, limit, cursor });
    const ended = rows.filter(({ hasEnded }) => hasEnded);
    const deleting = ended.map(({ runId }) => {
      const action = { caller, operation: deleteRun.name, about: runId, correlationId };
      return record(action, () => deletion.delete(runId, caller));
    });
    const done = await unlessUnrecorded(Promise.all(deleting), fail);
    const deleted = done.filter(({ outcome }) => outcome === "deleted").length;
    const reopened = done.filter(({ outcome }) => outcome === "not_ended").length;
    return { deleted, notEnded: rows.length - ended.length + reopened, next };
  });
}
