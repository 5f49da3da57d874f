import { failuresOf } from "@switchyard/contracts/errors";
import { featureErrors } from "@switchyard/contracts/mcp-features";
import type { AccessKind, Decision, Principal } from "@switchyard/contracts/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { AskedFor, PolicyGate } from "@switchyard/service/tool-provider/policy-gate";

/** What is asked for: a resource by its URI, a prompt by its name, the rest by its kind. */
export interface Feature {
  readonly kind: Exclude<AccessKind, "tool">;
  readonly server: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** Asks the policy about everything that is no tool, with the gate of the calls: it fails closed, too. */
export interface FeatureGate {
  decide(feature: Feature, asked: AskedFor): Promise<{ decision: Decision; principal: Principal }>;
  /** As `decide`; throws `denied` when the answer is no. */
  allow(feature: Feature, asked: AskedFor): Promise<{ decision: Decision; principal: Principal }>;
  /** Who asks; a refused token and a silent policy are told here. */
  identify(asked: AskedFor): Promise<Principal>;
  /** The entries that the principal may use with at least some arguments, in their order. */
  filter<T>(list: FeatureList<T>, asked: AskedFor): Promise<T[]>;
}

interface FeatureList<T> {
  readonly kind: Feature["kind"];
  readonly server: string;
  readonly entries: readonly T[];
  readonly nameOf: (entry: T) => string;
}

const fail = failuresOf(featureErrors);

export function createFeatureGate(gate: PolicyGate): FeatureGate {
  const decide: FeatureGate["decide"] = ({ kind, server, name, args }, asked) =>
    gate.check({ kind, ref: mcpToolRef(server, name), args }, asked);
  return {
    decide,
    identify: (asked) => gate.identify(asked),
    async allow(feature, asked) {
      const reply = await decide(feature, asked);
      if (reply.decision.effect === "allow") return reply;
      throw fail.denied(`The policy denies it: ${reply.decision.reason}`, reply.decision);
    },
    async filter({ kind, server, entries, nameOf }, asked) {
      const named = entries.map((entry) => ({ entry, ref: mcpToolRef(server, nameOf(entry)) }));
      const refs = named.map(({ ref }) => ref);
      const allowed = await gate.filter(refs, asked, kind);
      return named.filter(({ ref }) => allowed.has(ref.name)).map(({ entry }) => entry);
    },
  };
}
