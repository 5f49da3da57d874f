import { createHash } from "node:crypto";
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
  return `sha256:${createHash("sha256").update(canonicalJson(facts)).digest("hex")}`;
}

/** JSON with sorted keys: the same value has the same text whatever the order of its keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    const isRecord = typeof item === "object" && item !== null && !Array.isArray(item);
    if (!isRecord) return item;
    const entries = Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1));
    // Without a prototype, or an argument named __proto__ would be set instead of written.
    return Object.assign(Object.create(null), Object.fromEntries(entries));
  });
}
