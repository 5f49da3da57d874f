import type { Service } from "@switchyard/bus/serve";
import { getRun, listRuns } from "@switchyard/contracts/runs";
import type { RunIndex } from "./run-index.ts";

/** Answers questions about runs. */
export function handleRunQueries(service: Service, index: RunIndex): void {
  service.handle(listRuns, async (filter) => ({ runs: await index.list(filter) }));

  service.handle(getRun, async ({ runId }, { fail }) => {
    const run = await index.get(runId);
    if (run === null) throw fail.unknown_run(`there is no run ${runId}`, { runId });
    return { run };
  });
}
