import { dig } from "./read-manifests.ts";
import type { Manifest } from "./render-manifests.ts";

interface Policy {
  readonly type: "Percent" | "Pods";
  readonly value: number;
  readonly periodSeconds: number;
}
interface Behavior {
  readonly stabilizationWindowSeconds: number;
  readonly policies: readonly Policy[];
}

/**
 * The trigger `nats-jetstream` of a ScaledObject, queried as KEDA 2.17 does: the consumer's pending and unacknowledged messages,
 * and the stream's last sequence where there is no such consumer.
 */
export async function queueLag(monitorUrl: string, scaled: Manifest): Promise<number> {
  const trigger = Object(dig(scaled, "spec.triggers.0.metadata"));
  const url = new URL(`/jsz?acc=${trigger.account}&consumers=true&config=true`, monitorUrl);
  // The format that NATS documents; a missing number fails the sum.
  const detail = (await (await fetch(url)).json()) as JetStreamDetail;
  const stream = detail.account_details
    ?.find(({ name }) => name === trigger.account)
    ?.stream_detail?.find(({ name }) => name === trigger.stream);
  if (stream === undefined) throw new Error(`NATS has no stream ${trigger.stream}`);
  const consumer = stream.consumer_detail?.find(({ name }) => name === trigger.consumer);
  if (consumer === undefined) return stream.state.last_seq;
  return consumer.num_pending + consumer.num_ack_pending;
}

interface JetStreamDetail {
  readonly account_details?: readonly {
    readonly name: string;
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly state: { readonly last_seq: number };
      readonly consumer_detail?: readonly {
        readonly name: string;
        readonly num_pending: number;
        readonly num_ack_pending: number;
      }[];
    }[];
  }[];
}

export interface Autoscaler {
  /** The number of replicas, as the HPA that KEDA makes computes it every 15 s. */
  decide(facts: { lag: number; replicas: number; atSeconds: number }): number;
}

/** The HPA's tolerance: it ignores smaller deviations. */
const TOLERANCE = 0.1;

/** The horizontal pod autoscaler with the behaviour of a ScaledObject, on a clock that the caller moves. */
export function autoscalerOf(scaled: Manifest): Autoscaler {
  const target = Number(dig(scaled, "spec.triggers.0.metadata.lagThreshold"));
  const [min, max] = ["minReplicaCount", "maxReplicaCount"].map((name) =>
    Number(dig(scaled, `spec.${name}`)),
  );
  const behavior = dig(scaled, "spec.advanced.horizontalPodAutoscalerConfig.behavior");
  // The chart's tests hold it against the types of KEDA.
  const { scaleUp, scaleDown } = behavior as { scaleUp: Behavior; scaleDown: Behavior };
  const wanted: { at: number; replicas: number }[] = [];
  const changes: { at: number; by: number }[] = [];

  return {
    decide({ lag, replicas, atSeconds }) {
      const ratio = lag / (target * replicas);
      const desired = Math.abs(ratio - 1) <= TOLERANCE ? replicas : Math.ceil(lag / target);
      wanted.push({ at: atSeconds, replicas: desired });
      const since = (seconds: number): number[] =>
        wanted.filter(({ at }) => at > atSeconds - seconds).map((each) => each.replicas);
      const up = Math.min(desired, ...since(scaleUp.stabilizationWindowSeconds));
      const down = Math.max(desired, ...since(scaleDown.stabilizationWindowSeconds));
      const steady = Math.min(Math.max(replicas, up), down);
      /** The number of replicas when the policy's period began. */
      const before = ({ periodSeconds }: Policy): number =>
        changes
          .filter(({ at }) => at > atSeconds - periodSeconds)
          .reduce((count, { by }) => count - by, replicas);
      const limit = (policy: Policy, sign: 1 | -1): number =>
        policy.type === "Pods"
          ? before(policy) + sign * policy.value
          : before(policy) * (1 + (sign * policy.value) / 100);
      const most = Math.max(...scaleUp.policies.map((each) => Math.ceil(limit(each, 1))));
      const least = Math.min(...scaleDown.policies.map((each) => Math.floor(limit(each, -1))));
      const paced = Math.min(Math.max(steady, Math.min(least, replicas)), Math.max(most, replicas));
      const next = Math.min(Math.max(paced, min ?? 1), max ?? 1);
      if (next !== replicas) changes.push({ at: atSeconds, by: next - replicas });
      return next;
    },
  };
}
