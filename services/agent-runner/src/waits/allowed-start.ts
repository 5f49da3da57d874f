import { builtinToolRef } from "@switchyard/contracts/tool-names";
import type { checkPolicy, Decision } from "@switchyard/contracts/policy/policy";
import type { ExecutedCall, ExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import type { z } from "zod";
import { agentTool } from "./agent-tool.ts";

/** A child that may be started. */
export interface AllowedStart {
  /** The decision that allows it: made by the policy, or by a person whom the policy required. */
  readonly decision: Decision;
  /**
   * Makes the start, with its record in the audit stored before; resolves when it is made. Rejects with
   * NotSentError when it cannot be recorded now, and then nothing is started.
   */
  readonly recorded: (start: () => Promise<void>) => Promise<void>;
}

/** The decision that allows a start, and the approval by a person when the policy required one. */
export interface Verdict {
  readonly decision: Decision;
  readonly passed: ExecutedCall["passed"];
}

/** A call of `agent` as the audit records it: the same call that the policy checked. */
export interface StartToRecord {
  readonly caller: string;
  readonly runId: string;
  readonly callId: string;
  readonly args: Record<string, unknown>;
  readonly checked: z.output<typeof checkPolicy.reply>;
}

export function allowedStart(
  { caller, runId, callId, args, checked }: StartToRecord,
  { decision, passed }: Verdict,
  executions: Pick<ExecutionAudit, "duringStart">,
): AllowedStart {
  const executed: ExecutedCall = {
    caller,
    principal: checked.principal,
    ref: builtinToolRef(agentTool.name),
    pin: undefined,
    callId,
    args,
    decision: checked.decision,
    decisionRef: checked.audit,
    signed: checked.signed,
    passed,
    correlationId: runId,
  };
  return { decision, recorded: (start) => executions.duringStart(executed, start) };
}
