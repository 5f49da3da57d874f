import type {
  RecordedDecision,
  ReplayedDecision,
} from "@switchyard/contracts/policy/policy-replay";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { decideFeature } from "@switchyard/rules/engine/evaluate-feature";
import { decide, hasCondition, type Call } from "@switchyard/rules/engine/evaluate";
import { TIME } from "@switchyard/rules/bundle/conditions";
import { planWindows } from "@switchyard/rules/engine/plan-windows";
import { compileToolLayers } from "@switchyard/rules/layers/tool-layers";

/**
 * Evaluates a bundle against a recorded decision, from the facts in the audit. If only the digest of the arguments is recorded,
 * the answer is known only when no rule with conditions is about the call.
 */
export function replay(bundle: CompiledBundle, recorded: RecordedDecision): ReplayedDecision {
  const { principal, access, tool, server, layers = [], args } = recorded;
  if (layers === null) return { kind: "unknown", needs: "layers" };
  const call: Call = {
    principal,
    tool,
    args: args ?? {},
    layers: recorded.layers === undefined ? null : compileToolLayers(layers),
    server,
    facts: recorded.at === undefined ? {} : { nowMs: Date.parse(recorded.at) },
  };
  // Any condition may be about the arguments of a request that is not a tool call.
  const needsArguments =
    access !== "tool" || hasCondition(bundle, call, ({ arg }) => arg.startsWith("/"));
  if (args === undefined && needsArguments) return { kind: "unknown", needs: "arguments" };
  if (recorded.at === undefined && hasCondition(bundle, call, ({ arg }) => arg === TIME))
    return { kind: "unknown", needs: "time" };
  if (access === "tool" && planWindows(bundle, call) !== null)
    return { kind: "unknown", needs: "history" };
  const decision =
    access === "tool" ? decide(bundle, call) : decideFeature(bundle, { ...call, kind: access });
  const { effect, tier, rule, reason } = decision;
  return { kind: "decided", effect, ...(tier === undefined ? {} : { tier }), rule, reason };
}
