import type { RecordedDecision, ReplayedDecision } from "@switchyard/contracts/policy-replay";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { decideFeature } from "@switchyard/rules/engine/evaluate-feature";
import { decide, ignoresArguments, type Call } from "@switchyard/rules/engine/evaluate";
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
  };
  // Any condition may be about the arguments of a request that is not a tool call.
  const isKnown = args !== undefined || (access === "tool" && ignoresArguments(bundle, call));
  if (!isKnown) return { kind: "unknown", needs: "arguments" };
  const decision =
    access === "tool" ? decide(bundle, call) : decideFeature(bundle, { ...call, kind: access });
  const { effect, tier, rule, reason } = decision;
  return { kind: "decided", effect, ...(tier === undefined ? {} : { tier }), rule, reason };
}
