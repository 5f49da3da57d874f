import { builtinToolRef } from "@switchyard/contracts/tool-names";
import type { checkPolicy, Decision } from "@switchyard/contracts/policy";
import type { ExecutedCall, ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import type { z } from "zod";
import { agentTool } from "./agent-tool.ts";

/** A child that may be started. */
export interface AllowedStart {
  /** What allows it: the policy, or a person that it asked. */
  readonly decision: Decision;
  /**
   * Makes the start, with its record in the audit stored before; resolves when it is made. Rejects with
   * NotSentError when it cannot be recorded now, and then nothing is started.
   */
  readonly recorded: (start: () => Promise<void>) => Promise<void>;
}

/** What allows a start, and by what a person let it pass where the policy asked. */
export interface Verdict {
  readonly decision: Decision;
  readonly passed: ExecutedCall["passed"];
}

/** A call of `agent` as it is recorded: the one that the policy was asked about. */
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
