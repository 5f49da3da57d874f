import type {
  RecordedDecision,
  ReplayedDecision,
} from "@switchyard/contracts/policy/policy-replay";
import { cutText } from "@switchyard/contracts/cut-text";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { decideFeature } from "@switchyard/rules/engine/evaluate-feature";
import { decide, hasCondition, type Call } from "@switchyard/rules/engine/evaluate";
import { TIME } from "@switchyard/rules/bundle/conditions";
import { planWindows } from "@switchyard/rules/engine/plan-windows";
import { compileToolLayers } from "@switchyard/rules/layers/tool-layers";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { ValueReader } from "./read-values.ts";

const MAX_ABOUT = 300;

/**
 * Evaluates a bundle against a recorded decision, from the facts in the audit. Where a condition cannot be answered from them, the result
 * is known only when it is the same with each answer.
 */
export function replay(
  bundle: CompiledBundle,
  recorded: RecordedDecision,
  reader: ValueReader,
): ReplayedDecision {
  const { principal, access, tool, server, layers = [] } = recorded;
  if (layers === null) return { kind: "unknown", needs: "layers" };
  const nowMs = recorded.at === undefined ? undefined : Date.parse(recorded.at);
  const common: Omit<Call, "args"> = {
    principal,
    tool,
    layers: recorded.layers === undefined ? null : compileToolLayers(layers),
    server,
    facts: nowMs === undefined ? {} : { nowMs },
  };
  const known = reader.read(recorded);
  const args = typeof known === "string" ? {} : known.args;
  // Any condition may be about the arguments of a request that is not a tool call.
  const needsArguments =
    access !== "tool" ||
    hasCondition(bundle, common, (one) => one.arg.startsWith("/") || one.finds !== undefined);
  if (typeof known === "string" && needsArguments) return { kind: "unknown", needs: known };
  if (nowMs === undefined && hasCondition(bundle, common, ({ arg }) => arg === TIME))
    return { kind: "unknown", needs: "time" };
  const isComplete =
    typeof known === "string" || known.recorded === null ? null : known.recorded.isComplete;
  const callWith = (assume: { allow: boolean; deny: boolean }): Call => ({
    ...common,
    args,
    facts: { ...common.facts, ...(isComplete !== null && { recorded: { isComplete, assume } }) },
  });
  if (access === "tool" && planWindows(bundle, callWith({ allow: true, deny: true })) !== null)
    return { kind: "unknown", needs: "history" };
  const decided = (allow: boolean, deny: boolean): Decision => {
    const call = callWith({ allow, deny });
    return access === "tool"
      ? decide(bundle, call)
      : decideFeature(bundle, { ...call, kind: access });
  };
  const first = decided(false, false);
  // More matching rules only ever make a decision stricter or another effect, so these four have each result that there can be.
  const isSure =
    isComplete === null ||
    [decided(true, false), decided(false, true), decided(true, true)].every(
      ({ effect, tier }) => effect === first.effect && tier === first.tier,
    );
  const isSealed = recorded.values?.sealed !== undefined && !reader.mayOpen;
  if (!isSure)
    return {
      kind: "unknown",
      ...unanswered(bundle, callWith({ allow: true, deny: true }), isSealed),
    };
  const { effect, tier, rule, reason } = first;
  return { kind: "decided", effect, ...(tier === undefined ? {} : { tier }), rule, reason };
}

/** Names a condition that digests do not answer. */
function unanswered(
  bundle: CompiledBundle,
  call: Call,
  isSealed: boolean,
): { needs: "right" | "values"; about?: string } {
  let about: string | undefined;
  hasCondition(bundle, call, (condition) => {
    if (condition.judge(call) !== "unknown") return false;
    about = cutText(`${condition.arg} ${condition.wanted}`, MAX_ABOUT);
    return true;
  });
  return {
    needs: isSealed ? "right" : "values",
    ...(about !== undefined && { about }),
  };
}
