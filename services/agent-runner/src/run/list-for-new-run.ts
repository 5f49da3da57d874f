import { startOf } from "../core/replay.ts";
import { listProviderTools, type Listing } from "../context/listed-tool.ts";
import { policedTools } from "./own-tools.ts";
import type { RunnerParts } from "./runner-parts.ts";
import type { Created } from "./work-on-run.ts";

/** Requests the list of tools of a run that is about to be made. */
export function listForNewRun(
  { started, token: { token } }: Omit<Created, "listing">,
  { clients }: Pick<RunnerParts, "clients">,
  signal: AbortSignal,
): Promise<Listing> {
  const state = startOf(started);
  const asking = { token, layers: state.toolLayers, policed: policedTools(state) };
  const listing = listProviderTools(clients, asking, { signal, correlationId: started.runId });
  listing.catch(() => {}); // the run may end before it needs the list, so a failure is handled where the list is read
  return listing;
}
