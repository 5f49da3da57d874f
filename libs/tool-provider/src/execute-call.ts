import type { ToolRef } from "@switchyard/contracts/tool-names";
import { outcomeName, type ExecutionAudit } from "./execution-audit.ts";
import type { ApprovalGate } from "./approval-gate.ts";
import type { CallInWork } from "./call-in-work.ts";
import { NotSentError } from "./call-once.ts";
import type { CallOutcome } from "./call-store.ts";
import { inspectOutcome, inspectResult, unmaskArguments } from "./inspect-call.ts";
import type { MaskStore } from "./mask-store.ts";
import type { Decided } from "./decision-cache.ts";
import { consumeEdited, withEdit, type NewDecision } from "./edited-call.ts";

/** A call that the policy allows, or lets a person decide about. */
export interface DecidedCall {
  readonly call: CallInWork;
  readonly ref: ToolRef;
  /** Digest of the definition that the policy decided about; undefined for built-in tools. */
  readonly pin: string | undefined;
  readonly args: Record<string, unknown>;
  readonly callId: string | undefined;
  readonly approvalId: string | undefined;
  readonly decided: Decided;
}

/**
 * Executes a decided call: uses the approval when one is required, records the execution, and sends the call. Nothing leaves the
 * provider before `send`. The decision, the approval and the record are about the arguments with masks; the checks and `send` get the
 * values. The outcome is that after inspection. Rejects with NotSentError when the call was certainly not sent; then its approval may be used again.
 */
export async function executeCall(
  {
    approvals,
    executions,
    masks,
  }: {
    readonly approvals: ApprovalGate;
    readonly executions: ExecutionAudit;
    readonly masks: MaskStore;
  },
  decidedCall: DecidedCall,
  steps: {
    /** Rejects with NotSentError for a call that can only fail: no person is prompted for it, and no approval is used up. */
    readonly checkBeforeApproval: (args: Record<string, unknown>) => void | Promise<void>;
    readonly send: (args: Record<string, unknown>) => Promise<CallOutcome>;
    /** Requests a decision about arguments that an approver changed. They are returned as the tool takes them. Rejects with NotSentError. */
    readonly decideAgain: (args: Record<string, unknown>) => Promise<NewDecision>;
  },
): Promise<CallOutcome> {
  const { call, ...asked } = decidedCall;
  const { requester } = call;
  let { decided, ...about } = asked;
  let passed = null;
  let record = null;
  let edited = null;
  try {
    let args = await unmaskArguments(masks, about.args, decided);
    if (decided.decision.effect !== "allow") {
      await steps.checkBeforeApproval(args);
      const { decision, principal } = decided;
      const used = await approvals.consume({ ...about, requester, principal, decision });
      if ("edited" in used) {
        edited = used.edited;
        await call.releaseReserved();
        const again = await steps.decideAgain(edited.args);
        about = { ...about, args: again.args };
        ({ decided } = again);
        args = await unmaskArguments(masks, about.args, decided);
        await steps.checkBeforeApproval(args);
        passed = await consumeEdited(approvals, { ...about, requester, ...decided }, used.editOf);
      } else passed = used;
    }
    const { decision, principal, audit: decisionRef, signed } = decided;
    const { onBehalfOf: caller, correlationId } = requester;
    const { approvalId: _, ...called } = about;
    const execution = {
      ...called,
      caller,
      principal,
      correlationId,
      decision,
      decisionRef,
      signed,
    };
    record = await executions.begin({ ...execution, passed });
    const sent = await steps.send(args);
    const { outcome: made, findings, isWithheld } = await inspectOutcome(masks, sent, decided);
    // The person may have written a value that rules mask.
    const outcome =
      edited === null
        ? made
        : withEdit(made, { by: edited.by, args: await inspectResult(masks, about.args, decided) });
    record.ended(isWithheld ? "withheld" : outcomeName(made), findings);
    await passed?.executed(outcome);
    return outcome;
  } catch (error) {
    record?.failed(call.failureOf(error));
    // Without proof that it was not sent, the outcome stays unknown.
    if (error instanceof NotSentError) await passed?.notSent();
    throw error;
  }
}
