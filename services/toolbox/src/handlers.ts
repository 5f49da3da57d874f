import {
  listMemories as memoriesContract,
  recallMemory as recallContract,
} from "@switchyard/contracts/toolbox/agent-memory";
import type { Service } from "@switchyard/bus/serve";
import {
  callBuiltin,
  cancelBuiltin,
  cancelBuiltinAt,
  listBuiltins,
} from "@switchyard/contracts/toolbox/toolbox";
import { cancelCall, cancelHere, type CancelDeps } from "@switchyard/tool-provider/cancel-call";
import { requesterOf } from "@switchyard/tool-provider/policy-gate";
import { callTool, type CallToolDeps } from "./calls/call-tool.ts";
import { listMemories } from "./calls/list-memories.ts";
import { listTools } from "./calls/list-tools.ts";
import { recallMemory, type RecallDeps } from "./calls/recall-memory.ts";
import type { ToolboxMetrics } from "./toolbox-metrics.ts";

export type HandlerDeps = CallToolDeps &
  CancelDeps &
  RecallDeps & { readonly metrics: ToolboxMetrics };

/** The NATS user of every toolbox. */
const TOOLBOX = "toolbox";

/** Answers the toolbox's contracts. */
export function handle(service: Service, deps: HandlerDeps): void {
  service.handle(listBuiltins, ({ token }, context) =>
    listTools(deps, requesterOf(context, token)),
  );
  service.handle(recallContract, ({ token, maxBytes }, context) =>
    recallMemory(deps, { maxBytes }, requesterOf(context, token)),
  );
  service.handle(memoriesContract, (request, { caller }) =>
    listMemories(deps.memory, request, caller),
  );
  service.handle(callBuiltin, (request, context) =>
    deps.metrics.measureCall(request.tool, () =>
      callTool(deps, request, requesterOf(context, request.token)),
    ),
  );
  service.handle(cancelBuiltin, (request, context) =>
    cancelCall(deps, { ...request, server: null }, requesterOf(context, request.token)),
  );
  service.handle(
    cancelBuiltinAt,
    ({ onBehalfOf, ...request }, context) => {
      // Only toolboxes may publish here, so their statement about the caller is trusted.
      if (context.caller !== TOOLBOX) return { cancelled: false };
      const requester = { ...requesterOf(context, request.token), onBehalfOf };
      return cancelHere(deps, { ...request, server: null }, requester);
    },
    { toolbox: deps.holder },
  );
}
