import { startOf } from "../core/replay.ts";
import { listProviderTools, type Listing } from "../tools/listed-tool.ts";
import { policedTools } from "./own-tools.ts";
import type { RunnerParts } from "./runner-parts.ts";
import type { Created } from "./work-on-run.ts";

/** Asks for the tools of a run that is about to be made. */
export function listForNewRun(
  { started, token: { token } }: Omit<Created, "listing">,
  { peers }: Pick<RunnerParts, "peers">,
  signal: AbortSignal,
): Promise<Listing> {
  const state = startOf(started);
  const asking = { token, layers: state.toolLayers, policed: policedTools(state) };
  const listing = listProviderTools(peers, asking, { signal, correlationId: started.runId });
  listing.catch(() => {}); // for whoever needs it, if anybody does
  return listing;
}
