import { canonicalJson } from "@switchyard/contracts/canonical-json";
import { cutText } from "@switchyard/contracts/cut-text";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { ApprovalGate, CallToApprove, Consumed } from "./approval-gate.ts";
import { NotSentError } from "./call-once.ts";
import type { CallOutcome } from "./call-store.ts";
import type { InspectedContent } from "./inspect-call.ts";
import type { Decided } from "./decision-cache.ts";

/** The policy's answer about changed arguments, and these as the tool takes them. */
export interface NewDecision {
  readonly args: Record<string, unknown>;
  readonly decided: Decided;
}

const MAX_SHOWN = 4_000;

const fail = failuresOf(callTool.errors);

/** Uses the approval for the changed arguments. Rejects with NotSentError when the rules or the approval do not let them pass. */
export async function consumeEdited(
  approvals: ApprovalGate,
  call: CallToApprove,
  editOf: string,
): Promise<Consumed> {
  const { decision, ref } = call;
  if (decision.effect === "deny")
    throw new NotSentError(
      fail.denied(
        `The policy denies ${ref.name} as a person changed it: ${decision.reason}`,
        decision,
      ),
    );
  const used = await approvals.consume({ ...call, editOf });
  if (!("edited" in used)) return used;
  throw new TypeError("the policy answered about changed arguments with others");
}

/** Adds a note for the model that a person changed the arguments, inspected as a result is: the result is that of another call than the one it requested. */
export function withEdit(
  outcome: CallOutcome,
  { by, args }: { readonly by: string; readonly args: InspectedContent },
): CallOutcome {
  const shown = cutText(args.withheld ?? canonicalJson(args.content), MAX_SHOWN);
  const note = `[${by} changed the arguments of this call before approving it; it was made with: ${shown}]`;
  switch (outcome.kind) {
    case "result":
    case "invalid": {
      const { result } = outcome;
      const content = [{ type: "text", text: note }, ...result.content];
      return { ...outcome, result: { ...result, content, text: `${note}\n${result.text}` } };
    }
    case "failed":
      return { ...outcome, reason: `${note} ${outcome.reason}` };
    case "too_large":
      return outcome;
    default:
      return outcome satisfies never;
  }
}
