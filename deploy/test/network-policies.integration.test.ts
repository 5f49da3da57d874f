// The chart's network policies, read as Kubernetes adds them up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dig, ofKind } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { renderChart } from "./render-chart.ts";
import { readManifests, type Manifest } from "./render-manifests.ts";

const helm = (await kubernetesTool("helm")) ?? "";
const skip = helm === "" && "there is no helm on this machine";
const NAMESPACE = "kubernetes.io/metadata.name";

type Labels = Readonly<Record<string, string>>;
interface Peer {
  readonly podSelector?: { readonly matchLabels?: Labels };
  readonly namespaceSelector?: { readonly matchLabels?: Labels };
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}
interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port?: number }[];
}

const policiesOf = (options: Parameters<typeof renderChart>[1]): Manifest[] =>
  ofKind(readManifests(renderChart(helm, { ...options, hooks: false })), "NetworkPolicy");

const rulesOf = (policy: Manifest | undefined, way: "ingress" | "egress"): readonly Rule[] =>
  (dig(policy, `spec.${way}`) ?? []) as readonly Rule[];

const named = (policies: Manifest[], name: string): Manifest =>
  policies.find(({ metadata }) => metadata.name === name) ?? assert.fail(`no policy ${name}`);

/** The peers at a port, in all rules of a policy. */
function peersAt(policy: Manifest | undefined, way: "ingress" | "egress", port: number): Peer[] {
  return rulesOf(policy, way)
    .filter(({ ports = [] }) => ports.some((one) => one.port === port))
    .flatMap(({ from, to }) => from ?? to ?? []);
}

const namespaceOf = (peer: Peer | undefined) => peer?.namespaceSelector?.matchLabels?.[NAMESPACE];

test("every rule names its peers, but for callers of the gateway", { skip }, () => {
  for (const values of ["minimal", "dev", "production", "external", "air-gapped", "multi-team"])
    for (const policy of policiesOf({ values })) {
      const { name } = policy.metadata;
      for (const rule of rulesOf(policy, "egress"))
        assert.ok(rule.to?.length, `${values}: ${name}`);
      if (name === "inbound-http") continue;
      for (const rule of rulesOf(policy, "ingress"))
        assert.ok(rule.from?.length, `${values}: ${name}`);
    }
});

test(
  "NATS and Redis of one pod are for the services, and only KEDA reaches the monitoring",
  { skip },
  () => {
    const policies = policiesOf({ values: "dev" });
    for (const [name, port] of [
      ["nats", 4222],
      ["redis", 6379],
    ] as const) {
      const policy = named(policies, name);
      assert.deepEqual(dig(policy, "spec.podSelector.matchLabels"), {
        "app.kubernetes.io/name": name,
      });
      const peers = peersAt(policy, "ingress", port);
      assert.ok(peers.length > 0);
      // A selector of pods alone is about the own namespace.
      for (const peer of peers) assert.deepEqual(Object.keys(peer), ["podSelector"], name);
      const way = named(policies, `outbound-${name}`);
      assert.equal(peersAt(way, "egress", port).length, 1);
    }
    const monitoring = peersAt(named(policies, "nats"), "ingress", 8222);
    assert.deepEqual(monitoring.map(namespaceOf), ["keda"]);
  },
);

test("services reach NATS, Redis and a collector where values say they are", { skip }, () => {
  const peers = (sets: string[], port: number): Peer[] =>
    peersAt(named(policiesOf({ sets }), "default"), "egress", port);
  const nats = (url: string) => peers([`nats.url=${url}`], 4222);
  assert.equal(namespaceOf(nats("nats://nats.bus.svc.cluster.local:4222")[0]), "bus");
  assert.equal(namespaceOf(nats("nats://nats.bus:4222")[0]), "bus");
  assert.deepEqual(nats("nats://nats:4222"), [{ podSelector: {} }]);
  assert.deepEqual(nats("tls://10.1.2.3:4222"), [{ ipBlock: { cidr: "10.1.2.3/32" } }]);
  assert.equal(nats("tls://nats-1.example.com:4222")[0]?.ipBlock?.cidr, "0.0.0.0/0");
  const sentinels = ["redis.scheme=redis+sentinel", "redis.address=s1.a:26379\\,s2.b:26379/main"];
  for (const port of [26_379, 6379])
    assert.deepEqual(peers(sentinels, port).map(namespaceOf), ["a", "b"]);
  const traced = ["otlpEndpoint=http://otel-collector.tracing:4318"];
  assert.equal(namespaceOf(peers(traced, 4318)[0]), "tracing");
  assert.deepEqual(peers(["image.tag=x"], 4318), []);
});

test(
  "no private address is reached before values name it, so neither is the Kubernetes API",
  { skip },
  () => {
    const isPrivate = /^(?:10|127|169\.254|172\.16|192\.168)\./;
    for (const peer of rulesOf(named(policiesOf({}), "outbound-web"), "egress").flatMap(
      ({ to = [] }) => to,
    )) {
      if (peer.ipBlock?.cidr !== "0.0.0.0/0") continue;
      const closed = (peer.ipBlock.except ?? []).filter((cidr) => isPrivate.test(cidr));
      assert.equal(closed.length, 5);
    }
    const sets = [
      "networkPolicy.privateWeb={10.20.0.0/16}",
      "networkPolicy.apiServers={203.0.113.7/32}",
    ];
    const web = named(policiesOf({ sets }), "outbound-web");
    assert.deepEqual(peersAt(web, "egress", 443), [{ ipBlock: { cidr: "10.20.0.0/16" } }]);
    assert.match(JSON.stringify(web), /"203\.0\.113\.7\/32"/);
  },
);
