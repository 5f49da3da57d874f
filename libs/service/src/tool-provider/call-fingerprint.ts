import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Principal } from "@switchyard/contracts/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/**
 * SHA-256 over who calls what with which arguments. A `callId` belongs to exactly one of these, so
 * that nobody reads another's result or gets the answer to another question.
 */
export function callFingerprint(call: {
  caller: string;
  principal: Principal;
  ref: ToolRef;
  args: Readonly<Record<string, unknown>>;
}): string {
  const { caller, principal, ref, args } = call;
  const facts = [
    caller,
    principal.user,
    principal.agent,
    principal.runId,
    ref.server,
    ref.tool,
    args,
  ];
  return canonicalDigest(facts);
}
