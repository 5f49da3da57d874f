import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { test } from "node:test";
import { runCommands } from "@switchyard/topology/streams";
import { testDirectory } from "@switchyard/testing/test-servers";
import { containersOf, deploymentOf, dig, keysOf, ofKind, variable } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { renderManifests, type Manifest } from "./render-manifests.ts";

const kubectl = (await kubernetesTool("kubectl")) ?? "";
const skip = kubectl === "" && "there is no kubectl on this machine";

function rendered(folder: string): Manifest[] {
  return renderManifests(kubectl, folder);
}

test("base: needs no kind that a cluster does not have by itself, and no Job", { skip }, () => {
  const manifests = rendered("base");
  for (const { apiVersion, kind } of manifests) {
    assert.match(apiVersion, /^(?:v1|(?:apps|policy)\/v1|networking\.k8s\.io\/v1)$/, kind);
    // Its template is immutable: the next version of the image could not be applied.
    assert.notEqual(kind, "Job");
  }
  assert.equal(dig(deploymentOf(rendered("base"), "agent-runner"), "spec.replicas"), 2);
});

test(
  "overlays/dev: KEDA scales the runners by the queue that the code declares, and alone",
  { skip },
  () => {
    const [scaled, ...others] = ofKind(rendered("overlays/dev"), "ScaledObject");
    assert.equal(others.length, 0);
    assert.deepEqual(dig(scaled, "spec.scaleTargetRef.name"), "agent-runner");
    const metadata = dig(scaled, "spec.triggers.0.metadata") as Record<string, string>;
    assert.equal(metadata["stream"], runCommands.stream);
    assert.equal(metadata["consumer"], runCommands.name);
    assert.equal(metadata["account"], "$G");
    assert.equal(
      dig(deploymentOf(rendered("overlays/dev"), "agent-runner"), "spec.replicas"),
      undefined,
    );
  },
);

test(
  "overlays/dev: the fleet of runners shrinks slowly, and not at all while its load is unknown",
  { skip },
  () => {
    const [scaled] = ofKind(rendered("overlays/dev"), "ScaledObject");
    // It counts only for a scale to 0, which never comes.
    assert.equal(dig(scaled, "spec.cooldownPeriod"), undefined);
    assert.ok(Number(dig(scaled, "spec.minReplicaCount")) >= 1);
    const behavior = dig(scaled, "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown");
    assert.ok(Number(dig(behavior, "stabilizationWindowSeconds")) >= 300);
    assert.deepEqual(dig(behavior, "policies.0"), {
      type: "Percent",
      value: 25,
      periodSeconds: 120,
    });
    assert.equal(dig(scaled, "spec.fallback.behavior"), "currentReplicasIfHigher");
  },
);

/** The base with components, as a user's own overlay has them. */
async function withComponents(...components: readonly string[]): Promise<Manifest[]> {
  const overlay = await testDirectory();
  const from = (path: string) => relative(overlay, join(import.meta.dirname, "../k8s", path));
  const all = components.map((name) => from(`components/${name}`));
  const text = JSON.stringify({ resources: [from("base")], components: all });
  await writeFile(join(overlay, "kustomization.yaml"), text);
  return renderManifests(kubectl, relative(join(import.meta.dirname, "../k8s"), overlay));
}

test(
  "components/hpa: scales the runners by the share of their slots, and never beside KEDA",
  { skip },
  async () => {
    const manifests = await withComponents("hpa");
    const [scaler, ...others] = ofKind(manifests, "HorizontalPodAutoscaler");
    assert.equal(others.length, 0);
    const runner = deploymentOf(manifests, "agent-runner");
    assert.equal(dig(runner, "spec.replicas"), undefined);
    const container = dig(runner, "spec.template.spec.containers.0");
    const slots = Number(variable(container, "YARD_RUNNER_SLOTS"));
    const { metric, target } = dig(scaler, "spec.metrics.0.pods") as {
      metric: { name: string };
      target: { averageValue: string };
    };
    assert.equal(metric.name, "yard_runner_slots_busy");
    assert.equal(target.averageValue, `${slots * 800}m`);
    await assert.rejects(withComponents("hpa", "keda"), /spec\/replicas/);
  },
);

test("a runner that is to go leaves calls of models and tools minutes to end", { skip }, () => {
  const container = dig(
    deploymentOf(rendered("base"), "agent-runner"),
    "spec.template.spec.containers.0",
  );
  // Four fifths are for the steps in work.
  assert.ok(Number(variable(container, "YARD_DRAIN_MS")) * 0.8 >= 240_000);
});

test("overlays/dev: every container of ours runs the image that was built here", { skip }, () => {
  for (const [folder, wanted] of [
    ["base", /^ghcr\.io\/switchyard\/switchyard:/],
    ["overlays/dev", /^switchyard:dev$/],
  ] as const) {
    for (const deployment of ofKind(rendered(folder), "Deployment"))
      for (const { image } of containersOf(deployment)) assert.match(image, wanted, folder);
  }
});

test(
  "streams follow each version before the policy of it starts, with a key that no service has",
  { skip },
  () => {
    for (const folder of ["base", "overlays/dev"]) {
      for (const deployment of ofKind(rendered(folder), "Deployment")) {
        const { name } = deployment.metadata;
        const [first, ...rest] = containersOf(deployment).filter(({ volumeMounts }) =>
          JSON.stringify(volumeMounts).includes('"name":"admin"'),
        );
        assert.deepEqual(rest, [], name);
        assert.equal(first?.name, name === "policy" ? "streams" : undefined, name);
        if (first === undefined) continue;
        assert.deepEqual(first.args, ["apps/cli/src/main.ts", "streams", "ensure", "--wait"]);
        assert.equal(dig(deployment, "spec.template.spec.initContainers.0.name"), "streams");
        // Its number of copies is a setting, and what streams have is kept without it.
        const replicas = first.env?.find((entry) => entry.name === "YARD_STREAM_REPLICAS");
        assert.equal(dig(replicas, "valueFrom.configMapKeyRef.optional"), true);
      }
    }
  },
);

test(
  "an edit of the rules, the servers, the models or the agents rolls out the one service that reads it",
  { skip },
  () => {
    const readers = new Map<string, string[]>();
    for (const deployment of ofKind(rendered("base"), "Deployment")) {
      const volumes = dig(deployment, "spec.template.spec.volumes");
      assert.ok(Array.isArray(volumes));
      for (const volume of volumes) {
        const name = dig(volume, "configMap.name");
        // An optional one is the operator's own, and its change rolls out nothing.
        const isOwn = dig(volume, "configMap.optional") === true;
        if (typeof name !== "string" || isOwn) continue;
        const map = name.replace(/-[a-z0-9]+$/, "");
        readers.set(map, [...(readers.get(map) ?? []), deployment.metadata.name]);
      }
    }
    assert.deepEqual(Object.fromEntries(readers), {
      "yard-agents": ["skill-importer"],
      "yard-channels": ["channels"],
      "yard-mcp-servers": ["mcp-broker"],
      "yard-models": ["agent-runner"],
      "yard-policy": ["policy"],
    });
  },
);

test(
  "models, their keys, login keys and the secrets of MCP servers reach the service that needs them",
  { skip },
  () => {
    const manifests = rendered("base");
    const runner = deploymentOf(rendered("base"), "agent-runner");
    const broker = deploymentOf(rendered("base"), "mcp-broker");
    const first = (deployment: Manifest): unknown =>
      dig(deployment, "spec.template.spec.containers.0");
    assert.equal(variable(first(runner), "YARD_MODELS_FILE"), "/config/models.json");
    const models = ofKind(manifests, "ConfigMap").find(({ metadata }) =>
      metadata.name.startsWith("yard-models-"),
    );
    assert.ok(
      Object(JSON.parse(String(Object(dig(models, "data"))["models.json"]))).providers.anthropic,
    );
    const optional = (name: string) => ({ secretRef: { name, optional: true } });
    assert.deepEqual(dig(first(runner), "envFrom.0"), optional("yard-model-keys"));
    assert.deepEqual(dig(first(broker), "envFrom.0"), optional("yard-mcp-secrets"));
    assert.equal(variable(first(broker), "YARD_KEYS_DIR"), "/keys");
    assert.ok(keysOf(broker).includes("mcp-logins.key"));
    const gateway = deploymentOf(manifests, "gateway");
    assert.equal(variable(first(gateway), "YARD_KEYS_DIR"), "/keys");
    assert.ok(keysOf(gateway).includes("webhooks.key"));
  },
);

test(
  "services with replicas are spread, and only one of them is disrupted at a time",
  { skip },
  () => {
    const manifests = rendered("base");
    for (const deployment of ofKind(manifests, "Deployment")) {
      const { name } = deployment.metadata;
      if (name === "toolbox") continue; // one replica, with a volume of its own
      const budget = ofKind(manifests, "PodDisruptionBudget").find(
        ({ metadata }) => metadata.name === name,
      );
      assert.equal(dig(budget, "spec.maxUnavailable"), 1, name);
      const selector = { "app.kubernetes.io/name": name };
      assert.deepEqual(dig(budget, "spec.selector.matchLabels"), selector, name);
      const [spread] = dig(deployment, "spec.template.spec.topologySpreadConstraints") as unknown[];
      assert.deepEqual(dig(spread, "labelSelector.matchLabels"), selector, name);
    }
  },
);

test(
  "network policies let through web ports, IPv6 and models in the cluster, and no metadata service",
  { skip },
  () => {
    const policies = ofKind(rendered("base"), "NetworkPolicy");
    const named = (name: string): Manifest | undefined =>
      policies.find(({ metadata }) => metadata.name === name);
    const everywhere = JSON.stringify(dig(named("default"), "spec.egress"));
    for (const port of [53, 4222, 6379]) assert.match(everywhere, new RegExp(`"port":${port}\\b`));
    const egress = dig(named("outbound-web"), "spec.egress");
    assert.ok(Array.isArray(egress));
    for (const rule of egress) {
      const blocks = (dig(rule, "to") as unknown[]).map((to) => dig(to, "ipBlock"));
      assert.deepEqual(
        blocks.map((block) => dig(block, "cidr")),
        ["0.0.0.0/0", "::/0"],
      );
      assert.match(JSON.stringify(blocks[0]), /"169\.254\.0\.0\/16"/);
      assert.match(JSON.stringify(blocks[1]), /"(?:fc00::\/7|fd00:ec2::254\/128)".*"fe80::\/10"/);
    }
    assert.deepEqual(dig(egress[0], "ports"), [{ protocol: "TCP" }]);
    const [models] = dig(named("outbound-model-servers"), "spec.egress") as unknown[];
    const [to] = dig(models, "to") as unknown[];
    assert.deepEqual(Object(dig(to, "podSelector.matchLabels")), {
      "switchyard/model-server": "true",
    });
  },
);
