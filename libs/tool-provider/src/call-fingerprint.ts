import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/**
 * SHA-256 over the caller, the principal, the tool and the arguments. A `callId` belongs to exactly one of these, so that no caller reads
 * another's result or gets the answer to another request.
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
