import type { Request } from "@switchyard/client/client";
import type { RunSummary } from "@switchyard/client/operations";

type RunOrder = NonNullable<Request<"GET /runs">["query"]>["sort"];

/**
 * The rows with the changed ones in their positions. A changed run that was not found fits the filters no more. A new one is put where its begin belongs,
 * except in an order in which only the server knows its position.
 */
export function withChanges(
  rows: readonly RunSummary[],
  {
    ids,
    found,
    sort = "newest",
  }: {
    readonly ids: readonly string[];
    readonly found: readonly RunSummary[];
    readonly sort?: RunOrder;
  },
): readonly RunSummary[] {
  const changed = new Set(ids);
  const byId = new Map(found.map((run) => [run.runId, run]));
  const kept = rows.flatMap((row) => {
    if (!changed.has(row.runId)) return [row];
    const run = byId.get(row.runId);
    byId.delete(row.runId);
    return run === undefined ? [] : [run];
  });
  if (sort !== "newest" || byId.size === 0) return kept;
  return [...byId.values(), ...kept].toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
}
