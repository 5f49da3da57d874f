import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { cancelBuiltinAt } from "@switchyard/contracts/toolbox/toolbox";
import { askHolder, type CancelDeps } from "@switchyard/tool-provider/cancel-call";

/** Forwards a cancellation to the toolbox that runs the call. */
export function createCancelPasser(bus: Bus): CancelDeps["passOn"] {
  const toolboxes = client(bus, { cancelBuiltinAt });
  return (toolbox, { callId, token }, requester) =>
    askHolder(requester, (limits) =>
      toolboxes.cancelBuiltinAt(
        { callId, onBehalfOf: requester.onBehalfOf, ...(token === undefined ? {} : { token }) },
        { tokens: { toolbox }, ...limits },
      ),
    );
}
