import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { cancelBuiltinAt } from "@switchyard/contracts/toolbox";
import type { CancelDeps } from "@switchyard/service/tool-provider/cancel-call";

/** Asks the toolbox that has a call. One that is gone has no call in work any more. */
export function createCancelPasser(bus: Bus): CancelDeps["passOn"] {
  const toolboxes = client(bus, { cancelBuiltinAt });
  return async (toolbox, { callId, token }, asked) => {
    const { onBehalfOf, deadline, signal, correlationId, traceparent } = asked;
    const limits = { deadline, signal, correlationId, traceparent };
    try {
      return await toolboxes.cancelBuiltinAt(
        { callId, onBehalfOf, ...(token === undefined ? {} : { token }) },
        { tokens: { toolbox }, ...limits },
      );
    } catch (error) {
      const isRefused =
        isError(error, cancelBuiltinAt, "invalid_token") ||
        isError(error, cancelBuiltinAt, "policy_unavailable");
      if (isRefused || !(error instanceof ServiceError)) throw error;
      return { cancelled: false };
    }
  };
}
