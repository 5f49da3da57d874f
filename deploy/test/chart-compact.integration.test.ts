import assert from "node:assert/strict";
import { test } from "node:test";
import { containersOf, deploymentOf, dig, keysOf, ofKind, variable } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { renderChart } from "./render-chart.ts";
import { readManifests, type Manifest } from "./render-manifests.ts";

const helm = (await kubernetesTool("helm")) ?? "";
const skip = helm === "" && "there is no helm on this machine";
const render = (...sets: string[]): Manifest[] => readManifests(renderChart(helm, { sets }));
/** Values that each add a file or a variable to the services. */
const everything = [
  "policy.issuers[0].issuer=https://login.example.com/",
  "policy.issuers[0].audience=switchyard",
  "policy.issuers[0].jwksUri=https://login.example.com/keys",
  "agentRunner.teamLimits.teams.team-a.runs=1",
  "toolbox.toolSettings.message.crossContext.allowWithinProvider=true",
  "scheduler.triggers[0].id=paid-order",
  "gateway.hooks.orders.agent=triage",
  "gateway.tls.secret=gateway-tls",
  "skillImporter.skills.tidy=text",
  "ca.configMap=authorities",
  "policy.env.YARD_APPROVE_OWN=all",
  "gateway.secrets={orders-secrets}",
];

interface Mount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly projected?: {
    readonly sources: readonly { readonly configMap: { readonly name: string } }[];
  };
}

/** The ConfigMaps by the folder of a deployment's last container that has them. */
function foldersOf(deployment: Manifest): Map<string, string[]> {
  const volumes = dig(deployment, "spec.template.spec.volumes") as Volume[];
  const mounts = (containersOf(deployment).at(-1)?.volumeMounts ?? []) as Mount[];
  return new Map(
    mounts.map(({ name, mountPath }) => {
      const volume = volumes.find((one) => one.name === name);
      const sources = volume?.projected?.sources ?? (volume?.configMap ? [volume] : []);
      return [mountPath, sources.map(({ configMap }) => configMap?.name ?? "").toSorted()];
    }),
  );
}

test("in compact mode each pod has the settings, files and keys of all services", { skip }, () => {
  const apart = ofKind(render(...everything), "Deployment");
  const [pod, ...others] = ofKind(render(...everything, "mode=compact"), "Deployment");
  assert.ok(pod);
  assert.deepEqual(others, []);
  const [streams, container] = containersOf(pod);
  assert.equal(streams?.name, "streams");
  assert.deepEqual(container?.args, ["apps/switchyard/src/main.ts"]);
  assert.equal(variable(container, "YARD_SERVICES"), "all");
  assert.deepEqual(keysOf(pod), [...new Set(apart.flatMap(keysOf))].toSorted());
  const folders = foldersOf(pod);
  for (const service of apart) {
    const { name } = service.metadata;
    const own = containersOf(service).at(-1);
    const user =
      keysOf(service)
        .find((key) => key.endsWith(".nk"))
        ?.replace(".nk", "") ?? "";
    for (const entry of own?.env ?? []) {
      if (entry.name === "YARD_DRAIN_MS") continue;
      const ours: unknown = container?.env?.find((one) => one.name === entry.name);
      const text: string = JSON.stringify(ours).replaceAll("{user}", user);
      assert.equal(text, JSON.stringify(entry), `${name}: ${entry.name}`);
    }
    for (const [path, maps] of foldersOf(service))
      assert.deepEqual(
        maps.filter((map) => !folders.get(path)?.includes(map)),
        [],
        `${name}: ${path}`,
      );
  }
  assert.ok(JSON.stringify(dig(container, "envFrom")).includes("orders-secrets"));
  assert.equal(dig(pod, "spec.strategy.type"), "Recreate");
});

test("its pods are what the Service, scaling and budgets select", { skip }, () => {
  const manifests = render(
    "mode=compact",
    "agentRunner.autoscaling.by=keda",
    "toolbox.workspaces.accessMode=ReadWriteMany",
    "monitoring.podMonitor.enabled=true",
  );
  const name = "app.kubernetes.io/name";
  const pod = deploymentOf(manifests, "switchyard");
  assert.equal(dig(pod, "spec.strategy.type"), "RollingUpdate");
  const [scaled] = ofKind(manifests, "ScaledObject");
  assert.equal(dig(scaled, "spec.scaleTargetRef.name"), "switchyard");
  const service = ofKind(manifests, "Service").find(({ metadata }) => metadata.name === "gateway");
  assert.deepEqual(dig(service, "spec.selector"), { [name]: "switchyard" });
  const [budget] = ofKind(manifests, "PodDisruptionBudget");
  assert.deepEqual(dig(budget, "spec.selector.matchLabels"), { [name]: "switchyard" });
  const [monitor] = ofKind(manifests, "PodMonitor");
  assert.equal(dig(monitor, "spec.podMetricsEndpoints.0.honorLabels"), true);
  assert.equal(dig(monitor, "spec.podMetricsEndpoints.0.relabelings"), undefined);
});

test(
  "network policies do not depend on the mode, and permit its pods all that services reach",
  { skip },
  () => {
    const sets = ["mcpBroker.privateHosts=private", "mcpServers.tracker.image=registry/tracker"];
    const policies = (...more: string[]) => ofKind(render(...sets, ...more), "NetworkPolicy");
    const all = policies();
    assert.deepEqual(policies("mode=compact"), all);
    const selecting = all.filter((policy) => JSON.stringify(policy).includes(',"switchyard"]'));
    assert.deepEqual(selecting.map(({ metadata }) => metadata.name).toSorted(), [
      "inbound-http",
      "mcp-tracker",
      "outbound-mcp-servers",
      "outbound-model-servers",
      "outbound-web",
    ]);
  },
);

test("two values of one variable are refused, unless compact mode has its own", { skip }, () => {
  const both = [
    "mode=compact",
    "policy.env.YARD_LOG_LEVEL=debug",
    "gateway.env.YARD_LOG_LEVEL=warn",
  ];
  assert.throws(() => render(...both), /policy\.env\.YARD_LOG_LEVEL: another service has warn/);
  const [pod] = ofKind(render(...both, "compact.env.YARD_LOG_LEVEL=info"), "Deployment");
  assert.equal(variable(dig(pod, "spec.template.spec.containers.0"), "YARD_LOG_LEVEL"), "info");
});

test("more than one pod needs a volume that all of them write", { skip }, () => {
  for (const set of ["compact.replicas=2", "agentRunner.autoscaling.by=hpa"])
    assert.throws(() => render("mode=compact", set), /compact\.replicas: .*ReadWriteMany/);
});
