import { listProviderTools, type Listing } from "../context/listed-tool.ts";
import type { RunToken } from "../context/grant-token.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import { startOf } from "../core/replay.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { policedTools } from "../waits/own-tools.ts";

/** Requests the list of tools of a run that is about to be made. */
export function listForNewRun(
  { started, token: { token } }: { readonly started: StartedEntry; readonly token: RunToken },
  clients: ServiceClients,
  signal: AbortSignal,
): Promise<Listing> {
  const state = startOf(started);
  const asking = { token, layers: state.toolLayers, policed: policedTools(state) };
  const listing = listProviderTools(clients, asking, { signal, correlationId: started.runId });
  listing.catch(() => {}); // the run may end before it needs the list, so a failure is handled where the list is read
  return listing;
}
