import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { cancelCallAt } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { askHolder, type CancelDeps } from "@switchyard/tool-provider/cancel-call";

/** Forwards a cancellation to the broker that has the call. */
export function createCancelPasser(bus: Bus): CancelDeps["passOn"] {
  const brokers = client(bus, { cancelCallAt });
  return (broker, { server, ...request }, requester) => {
    if (server === null) throw new TypeError("every call that a broker has is of a server");
    const { onBehalfOf } = requester;
    return askHolder(requester, (limits) =>
      brokers.cancelCallAt({ ...request, server, onBehalfOf }, { tokens: { broker }, ...limits }),
    );
  };
}
