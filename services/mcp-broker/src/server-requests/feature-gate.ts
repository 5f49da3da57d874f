import { failuresOf } from "@switchyard/contracts/errors";
import { featureErrors } from "@switchyard/contracts/mcp-features";
import type { AccessKind, Decision, Principal } from "@switchyard/contracts/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import { NotSentError } from "@switchyard/service/tool-provider/call-once";
import type { Decided } from "@switchyard/service/tool-provider/decision-cache";
import type { AskedFor, PolicyGate } from "@switchyard/service/tool-provider/policy-gate";
import type { StopWatch } from "@switchyard/service/tool-provider/stop-watch";

/** What is asked for: a resource by its URI, a prompt by its name, the rest by its kind. */
export interface Feature {
  readonly kind: Exclude<AccessKind, "tool">;
  readonly server: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** Asks the policy about everything that is no tool, with the gate of the calls: it fails closed, too. */
export interface FeatureGate {
  decide(feature: Feature, asked: AskedFor): Promise<Decided>;
  /** As `decide`; throws `denied` when the answer is no. */
  allow(feature: Feature, asked: AskedFor): Promise<Decided>;
  /**
   * What `allow` lets pass is done, and recorded as an execution by that decision. Throws
   * `policy_unavailable` when it cannot be recorded; then it is not done. The signal of what `work` is
   * asked with also aborts when an administrator stops such requests, which throws `stopped`.
   */
  perform<T>(
    feature: Feature,
    request: { readonly method: string; readonly asked: AskedFor },
    work: (principal: Principal, stoppable: AskedFor) => Promise<T>,
  ): Promise<{ readonly decision: Decision; readonly result: T }>;
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

/** What sees each request that was allowed. */
interface FeatureWatch {
  readonly executions: Pick<ExecutionAudit, "duringRequest">;
  readonly stops: Pick<StopWatch, "during">;
}

export function createFeatureGate(
  gate: PolicyGate,
  { executions, stops }: FeatureWatch,
): FeatureGate {
  const decide: FeatureGate["decide"] = ({ kind, server, name, args }, asked) =>
    gate.check({ kind, ref: mcpToolRef(server, name), args }, asked);
  const allow: FeatureGate["allow"] = async (feature, asked) => {
    const reply = await decide(feature, asked);
    if (reply.decision.effect === "allow") return reply;
    throw fail.denied(`The policy denies it: ${reply.decision.reason}`, reply.decision);
  };
  return {
    decide,
    identify: (asked) => gate.identify(asked),
    allow,
    async perform(feature, { method, asked }, work) {
      const { decision, principal, audit } = await allow(feature, asked);
      const { kind: access, server, name, args } = feature;
      const { onBehalfOf: caller, correlationId } = asked;
      const ref = mcpToolRef(server, name);
      const made = { access, method, caller, principal, ref, args };
      const known = { decision, decisionRef: audit, correlationId };
      const result = await orReply(() =>
        stops.during({ principal, ref, token: asked.token }, asked.signal, (signal) =>
          executions.duringRequest({ ...made, ...known }, () =>
            work(principal, { ...asked, signal }),
          ),
        ),
      );
      return { decision, result };
    },
    async filter({ kind, server, entries, nameOf }, asked) {
      const named = entries.map((entry) => ({ entry, ref: mcpToolRef(server, nameOf(entry)) }));
      const refs = named.map(({ ref }) => ref);
      const allowed = await gate.filter(refs, asked, kind);
      return named.filter(({ ref }) => allowed.has(ref.name)).map(({ entry }) => entry);
    },
  };
}

/** What says that nothing was done is told in the words that the contracts of tools and of features share. */
async function orReply<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotSentError) throw error.reply;
    throw error;
  }
}
