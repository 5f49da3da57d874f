import { shortRunId } from "../core/format.ts";
import { runText } from "../core/names.ts";
import { useResource } from "../core/resource.ts";

/** A link to a run by its name, which is loaded; the id until then, and for a run that the person may not see. */
export function RunLink({ runId }: { runId: string }) {
  const { data } = useResource("GET /runs/{runId}", { path: { runId } });
  return (
    <a href={`/runs/${encodeURIComponent(runId)}`} title={runId}>
      {data === null ? shortRunId(runId) : runText(data.run)}
    </a>
  );
}
