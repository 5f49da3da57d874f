import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { cancelCallAt } from "@switchyard/contracts/mcp-calls";
import type { CancelDeps } from "@switchyard/service/tool-provider/cancel-call";

/** A broker that is gone has no call in work any more. */
export function createCancelPasser(bus: Bus): CancelDeps["passOn"] {
  const brokers = client(bus, { cancelCallAt });
  return async (broker, { server, ...request }, asked) => {
    if (server === null) throw new TypeError("every call that a broker has is of a server");
    const { onBehalfOf, deadline, signal, correlationId, traceparent } = asked;
    const limits = { deadline, signal, correlationId, traceparent };
    try {
      return await brokers.cancelCallAt(
        { ...request, server, onBehalfOf },
        { tokens: { broker }, ...limits },
      );
    } catch (error) {
      const isRefused =
        isError(error, cancelCallAt, "invalid_token") ||
        isError(error, cancelCallAt, "policy_unavailable");
      if (isRefused || !(error instanceof ServiceError)) throw error;
      return { cancelled: false };
    }
  };
}
