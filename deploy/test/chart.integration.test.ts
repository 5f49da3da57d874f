import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommands } from "@switchyard/topology/streams";
import { parseBundle } from "@switchyard/rules/bundle/parse-bundle";
import { readTriggers } from "@switchyard/project/triggers/triggers-file";
import { readIssuers } from "@switchyard/policy/users/issuers-file";
import { parse } from "yaml";
import { assertWellKept, typeErrors } from "./check-manifests.ts";
import { containersOf, deploymentOf, dig, ofKind, variable } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { renderChart, runHelm } from "./render-chart.ts";
import { readManifests, type Manifest } from "./render-manifests.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const helm = (await kubernetesTool("helm")) ?? "";
const skip = helm === "" && "there is no helm on this machine";
const sets = "minimal dev production external air-gapped multi-team coding-agents compact".split(
  " ",
);
const rendered = new Map<string, Manifest[]>();

before(() => {
  if (helm === "") return;
  for (const set of sets) rendered.set(set, readManifests(renderChart(helm, { values: set })));
});

/** Every deployment and stateful set of every value set. */
function workloads(): { set: string; workload: Manifest }[] {
  return [...rendered].flatMap(([set, manifests]) =>
    ["Deployment", "StatefulSet"].flatMap((kind) =>
      ofKind(manifests, kind).map((workload) => ({ set, workload })),
    ),
  );
}

test(
  "hooks of the gateway are a file that it reads, and without any there is none",
  { skip },
  () => {
    const chosen = ["gateway.hooks.orders.agent=triage", "gateway.secrets={orders-secrets}"];
    const manifests = readManifests(renderChart(helm, { values: "minimal", sets: chosen }));
    const [gateway] = containersOf(deploymentOf(manifests, "gateway"));
    assert.equal(variable(gateway, "YARD_HOOKS_FILE"), "/config/hooks.json");
    assert.deepEqual(dig(gateway, "envFrom.0"), { secretRef: { name: "orders-secrets" } });
    const map = ofKind(manifests, "ConfigMap").find(({ metadata }) =>
      metadata.name.startsWith("yard-hooks"),
    );
    assert.deepEqual(JSON.parse(String(Object(dig(map, "data"))["hooks.json"])), {
      hooks: { orders: { agent: "triage" } },
    });
    const [without] = containersOf(deploymentOf(rendered.get("minimal") ?? [], "gateway"));
    assert.equal(variable(without, "YARD_HOOKS_FILE"), undefined);
  },
);

test(
  "triggers are a file that the scheduler takes, and without any there is none",
  { skip },
  () => {
    const trigger = {
      id: "paid-order",
      owner: "shop",
      agent: "clerk",
      "message.subject": "shop.orders.*.paid",
      "message.when[0].field": "/body/total",
      "message.when[0].op": "gte",
      "message.when[0].value": "100",
      input: "Order of {{/body/id}}",
    };
    const chosen = Object.entries(trigger).map(
      ([key, value]) => `scheduler.triggers[0].${key}=${value}`,
    );
    const manifests = readManifests(renderChart(helm, { values: "minimal", sets: chosen }));
    const [scheduler] = containersOf(deploymentOf(manifests, "scheduler"));
    assert.equal(variable(scheduler, "YARD_TRIGGERS_FILE"), "/config/triggers.yaml");
    const map = ofKind(manifests, "ConfigMap").find(({ metadata }) =>
      metadata.name.startsWith("yard-triggers"),
    );
    const { messages } = readTriggers(String(Object(dig(map, "data"))["triggers.yaml"]), "chart");
    assert.deepEqual(
      messages.map(({ id, source, when }) => [id, source.subject, when]),
      [["paid-order", "shop.orders.*.paid", [{ field: "/body/total", op: "gte", value: 100 }]]],
    );
    const [without] = containersOf(deploymentOf(rendered.get("minimal") ?? [], "scheduler"));
    assert.equal(variable(without, "YARD_TRIGGERS_FILE"), undefined);
  },
);

test("the chart and each value set pass helm lint", { skip }, () => {
  for (const set of sets) {
    const text = runHelm(helm, ["lint", "switchyard", "--strict", "-f", `values/${set}.yaml`]);
    assert.match(text, /1 chart\(s\) linted, 0 chart\(s\) failed/, set);
  }
});

test(
  "every object of every value set fits the types of Kubernetes and its operators",
  { skip },
  async (t) => {
    const known = [...rendered.values()]
      .flat()
      .filter(({ apiVersion }) => !apiVersion.startsWith("external-secrets.io/"));
    assert.equal(await typeErrors(known, t), "");
    const kinds = new Set(known.map(({ kind }) => kind));
    for (const kind of ["ScaledObject", "HorizontalPodAutoscaler", "PodMonitor", "PrometheusRule"])
      assert.ok(kinds.has(kind), kind);
    for (const kind of ["Ingress", "HTTPRoute"]) assert.ok(kinds.has(kind), kind);
  },
);

test("every pod is restricted, sidecars and servers included", { skip }, () => {
  assert.ok(workloads().length > 36);
  for (const { set, workload } of workloads()) {
    const about = `${set}: ${workload.metadata.name}`;
    const pod = dig(workload, "spec.template.spec");
    assert.equal(dig(pod, "securityContext.runAsNonRoot"), true, about);
    assert.equal(dig(pod, "securityContext.seccompProfile.type"), "RuntimeDefault", about);
    for (const container of containersOf(workload)) {
      assert.equal(dig(container, "securityContext.allowPrivilegeEscalation"), false, about);
      assert.equal(dig(container, "securityContext.readOnlyRootFilesystem"), true, about);
      assert.deepEqual(dig(container, "securityContext.capabilities.drop"), ["ALL"], about);
      assert.ok(dig(container, "resources.limits.memory"), about);
      const names = container.env?.map(({ name }) => name) ?? [];
      assert.deepEqual(names, [...new Set(names)], `${about} has a variable twice`);
    }
  }
  for (const manifests of rendered.values())
    for (const deployment of ofKind(manifests, "Deployment")) assertWellKept(deployment);
});

test(
  "services with replicas are spread, and only one of them is disrupted at a time",
  { skip },
  () => {
    for (const [set, manifests] of rendered)
      for (const deployment of ofKind(manifests, "Deployment")) {
        const { name } = deployment.metadata;
        const count = dig(deployment, "spec.replicas");
        const isMany = count === undefined || Number(count) > 1;
        const budget = ofKind(manifests, "PodDisruptionBudget").find(
          ({ metadata }) => metadata.name === name,
        );
        const about = `${set}: ${name}`;
        assert.equal(dig(budget, "spec.maxUnavailable"), isMany ? 1 : undefined, about);
        const spread = dig(deployment, "spec.template.spec.topologySpreadConstraints");
        assert.equal(Array.isArray(spread), isMany, about);
      }
  },
);

test("no secret is rendered: they are names, files and variables of MCP servers", { skip }, () => {
  for (const [set, manifests] of rendered) {
    assert.deepEqual(ofKind(manifests, "Secret"), [], set);
    for (const deployment of ofKind(manifests, "Deployment"))
      for (const { env } of containersOf(deployment))
        for (const { name } of env ?? [])
          assert.doesNotMatch(name, /(?:PASSWORD|SECRET|TOKEN|API_KEY|SEED)$/, set);
  }
  const servers = ofKind(rendered.get("production") ?? [], "ConfigMap").find(
    ({ metadata }) => metadata.name === "yard-mcp-servers",
  );
  assert.match(JSON.stringify(servers), /Bearer \$\{TRACKER_TOKEN\}/);
});

test("an image of one service is not outdone by the digest of all of them", { skip }, () => {
  const own = ["mcpBroker.image.tag=1.2.0-mcp", "toolbox.image.repository=registry/tools"];
  const manifests = readManifests(renderChart(helm, { values: "production", sets: own }));
  const image = (name: string): unknown =>
    dig(deploymentOf(manifests, name), "spec.template.spec.containers.0.image");
  assert.equal(image("mcp-broker"), "ghcr.io/switchyard/switchyard:1.2.0-mcp");
  assert.equal(image("toolbox"), "registry/tools:0.1.0");
  assert.match(String(image("policy")), /^ghcr\.io\/switchyard\/switchyard@sha256:[0-9a-f]{64}$/);
});

test("an edit of rules in values rolls out the policy service alone", { skip }, () => {
  const edited = readManifests(renderChart(helm, { values: "minimal", sets: ["policy.rules=x"] }));
  const changed = ofKind(edited, "Deployment").filter((deployment) => {
    const old = deploymentOf(rendered.get("minimal") ?? [], deployment.metadata.name);
    return JSON.stringify(old) !== JSON.stringify(deployment);
  });
  assert.deepEqual(
    changed.map(({ metadata }) => metadata.name),
    ["policy"],
  );
});

test(
  "runners are scaled by KEDA, by an HPA or not at all, and by one number of slots",
  { skip },
  () => {
    const byKeda = readManifests(
      renderChart(helm, { sets: ["agentRunner.autoscaling.by=keda", "agentRunner.slots=8"] }),
    );
    const [scaled] = ofKind(byKeda, "ScaledObject");
    const metadata = dig(scaled, "spec.triggers.0.metadata");
    assert.equal(dig(metadata, "stream"), runCommands.stream);
    assert.equal(dig(metadata, "consumer"), runCommands.name);
    assert.equal(dig(metadata, "lagThreshold"), "8");
    const runner = dig(deploymentOf(byKeda, "agent-runner"), "spec.template.spec.containers.0");
    assert.equal(variable(runner, "YARD_RUNNER_SLOTS"), "8");
    const scalers = (set: string) =>
      (rendered.get(set) ?? [])
        .map(({ kind }) => kind)
        .filter((kind) => ["ScaledObject", "HorizontalPodAutoscaler"].includes(kind));
    assert.deepEqual(scalers("minimal"), []);
    assert.deepEqual(scalers("production"), ["ScaledObject"]);
    assert.deepEqual(scalers("external"), ["HorizontalPodAutoscaler"]);
  },
);

/** Names of metrics that services and libraries export, from their sources. */
function exportedMetrics(): Set<string> {
  const sources = globSync("{services,libs}/*/src/**/*.ts", { cwd: root }).filter(
    (path) => !path.endsWith(".test.ts"),
  );
  const text = sources.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
  return new Set([...text.matchAll(/"(yard_[a-z_]+)"/g)].map(([, name = ""]) => name));
}

test(
  "the dashboards are in a ConfigMap that Grafana finds, and show metrics that services have",
  {
    skip,
  },
  () => {
    const exported = exportedMetrics();
    const config = ofKind(rendered.get("production") ?? [], "ConfigMap").find(
      ({ metadata }) => metadata.name === "switchyard-dashboards",
    );
    assert.equal(dig(config, "metadata.labels.grafana_dashboard"), "1");
    const files = Object.entries(dig(config, "data") ?? {});
    assert.equal(files.length, 3);
    for (const [file, text] of files) {
      const { uid, panels }: Dashboard = JSON.parse(String(text));
      assert.equal(`${uid}.json`, file);
      assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, file);
      for (const { title, targets } of panels)
        for (const { expr } of targets) {
          const names = expr.match(/yard_[a-z_]+/g) ?? [];
          assert.ok(names.length > 0, `${file}: ${title}`);
          const strange = names.filter((name) => !exported.has(name.replace(/_bucket$/, "")));
          assert.deepEqual(strange, [], `${file}: ${title}`);
        }
    }
  },
);

interface Dashboard {
  readonly uid: string;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

test(
  "rules and the HPA use metrics that services have, and links to runbooks lead where the values say",
  { skip },
  () => {
    const exported = exportedMetrics();
    const { groups }: { groups: { rules: { alert?: string; expr: string }[] }[] } = parse(
      readFileSync(join(root, "deploy/helm/switchyard/files/rules.yaml"), "utf8"),
    );
    const rules = groups.flatMap((group) => group.rules);
    const [autoscaler] = ofKind(rendered.get("external") ?? [], "HorizontalPodAutoscaler");
    const used = [
      ...rules.flatMap(({ expr }) => expr.match(/yard_[a-z_]+/g) ?? []),
      String(dig(autoscaler, "spec.metrics.0.pods.metric.name")),
    ].map((name) => name.replace(/_bucket$/, ""));
    assert.ok(used.length > 8);
    assert.deepEqual(
      used.filter((name) => !exported.has(name)),
      [],
    );
    const runbooks = "https://wiki.example.com/switchyard";
    const elsewhere = renderChart(helm, {
      values: "production",
      sets: [`monitoring.alerts.runbooks=${runbooks}`],
    });
    const [rule] = ofKind(readManifests(elsewhere), "PrometheusRule");
    const links = JSON.stringify(rule).match(/"runbook_url":"[^"]+"/g) ?? [];
    assert.ok(links.length > 8);
    assert.deepEqual(
      links.filter((link) => !link.startsWith(`"runbook_url":"${runbooks}#switchyard`)),
      [],
    );
  },
);

test(
  "an MCP server beside the broker is restricted, reached by the broker alone, and known to it with its token",
  { skip },
  async (t) => {
    const own = ["image=registry/tracker@sha256:0", "token=TRACKER_TOKEN", "env.TEAM=core"];
    const manifests = readManifests(
      renderChart(helm, {
        values: "minimal",
        sets: [
          "mcpBroker.privateHosts=10.96.0.0/12",
          ...own.map((set) => `mcpServers.tracker.${set}`),
        ],
      }),
    );
    assert.equal(await typeErrors(manifests, t), "");
    const server = deploymentOf(manifests, "mcp-tracker");
    const pod = dig(server, "spec.template");
    assert.equal(dig(pod, "spec.securityContext.runAsNonRoot"), true);
    const [container] = containersOf(server);
    assert.equal(dig(container, "securityContext.readOnlyRootFilesystem"), true);
    assert.ok(dig(container, "resources.limits.memory"));
    const labels: Record<string, unknown> = Object(dig(pod, "metadata.labels"));
    assert.equal(labels["switchyard/mcp-server"], "true", "the broker may reach it");
    const policy = ofKind(manifests, "NetworkPolicy").find(
      ({ metadata }) => metadata.name === "mcp-tracker",
    );
    const values = ["mcp-broker", "switchyard"];
    const ofBroker = { key: "app.kubernetes.io/name", operator: "In", values };
    assert.deepEqual(dig(policy, "spec.ingress"), [
      {
        from: [{ podSelector: { matchExpressions: [ofBroker] } }],
        ports: [{ port: 8080, protocol: "TCP" }],
      },
    ]);
    assert.equal(Array.isArray(dig(policy, "spec.egress")), true);
    const config = ofKind(manifests, "ConfigMap").find(
      ({ metadata }) => metadata.name === "yard-mcp-servers",
    );
    const data: Record<string, string> = Object(dig(config, "data"));
    assert.deepEqual(JSON.parse(data["mcp-servers.json"] ?? ""), {
      mcpServers: {
        tracker: {
          type: "http",
          url: "http://mcp-tracker:8080/mcp",
          headers: { Authorization: "Bearer ${TRACKER_TOKEN}" },
        },
      },
    });
  },
);

test(
  "the gateway's own TLS is a Secret that it reloads, and its Service declares it",
  { skip },
  () => {
    const portOf = (manifests: Manifest[]) =>
      dig(
        ofKind(manifests, "Service").find(({ metadata }) => metadata.name === "gateway"),
        "spec.ports.0",
      );
    const own = ["gateway.tls.secret=gateway-tls"];
    for (const values of ["minimal", "production", "multi-team"]) {
      const manifests = readManifests(renderChart(helm, { values, sets: own }));
      const deployment = deploymentOf(manifests, "gateway");
      assertWellKept(deployment);
      const [gateway] = containersOf(deployment);
      assert.equal(variable(gateway, "YARD_HTTP_TLS_DIR"), "/tls");
      const mounts = dig(gateway, "volumeMounts") as { name: string }[];
      assert.deepEqual(
        mounts.find(({ name }) => name === "tls"),
        { name: "tls", mountPath: "/tls", readOnly: true },
      );
      const volumes = dig(deployment, "spec.template.spec.volumes") as { name: string }[];
      assert.deepEqual(
        dig(
          volumes.find(({ name }) => name === "tls"),
          "secret.secretName",
        ),
        "gateway-tls",
      );
      const https = { name: "https", port: 443, targetPort: "http", appProtocol: "https" };
      assert.deepEqual(portOf(manifests), https);
      for (const ingress of ofKind(manifests, "Ingress"))
        assert.equal(
          dig(ingress, "spec.rules.0.http.paths.0.backend.service.port.name"),
          "https",
          values,
        );
      for (const route of ofKind(manifests, "HTTPRoute"))
        assert.equal(dig(route, "spec.rules.0.backendRefs.0.port"), 443, values);
    }
    const plain = rendered.get("minimal") ?? [];
    const [gateway] = containersOf(deploymentOf(plain, "gateway"));
    assert.equal(variable(gateway, "YARD_HTTP_TLS_DIR"), undefined);
    assert.deepEqual(portOf(plain), { name: "http", port: 80, targetPort: "http" });
    const wrong = [...own, "gateway.url=http://switchyard.example.com"];
    assert.throws(() => renderChart(helm, { sets: wrong }), { message: /write https:/ });
  },
);

test("the gateway accepts every host name that the values give it", { skip }, () => {
  const gateway = (set: string): unknown =>
    dig(deploymentOf(rendered.get(set) ?? [], "gateway"), "spec.template.spec.containers.0");
  // Each form of a Service's name that programs of the cluster use.
  const inside =
    "gateway,gateway.switchyard,gateway.switchyard.svc,gateway.switchyard.svc.cluster.local";
  assert.equal(variable(gateway("minimal"), "YARD_HTTP_HOSTS"), inside);
  assert.equal(
    variable(gateway("production"), "YARD_HTTP_HOSTS"),
    `${inside},switchyard.example.com`,
  );
  assert.equal(
    variable(gateway("multi-team"), "YARD_HTTP_HOSTS"),
    `${inside},switchyard.example.com,switchyard.internal`,
  );
  assert.equal(variable(gateway("production"), "YARD_OIDC_ISSUER"), "https://login.example.com/");
  const web = ofKind(rendered.get("production") ?? [], "NetworkPolicy").find(
    ({ metadata }) => metadata.name === "outbound-web",
  );
  // Both ask the provider: one for a sign-in, the other for its keys.
  assert.match(JSON.stringify(web), /"toolbox","scheduler","gateway","policy"/);
});

test("the policy service takes the rules and issuers of every value set", { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "chart-"));
  t.after(() => rm(folder, { recursive: true }));
  let issuers = 0;
  for (const [set, manifests] of rendered)
    for (const map of ofKind(manifests, "ConfigMap")) {
      const { "policy.yaml": rules, "issuers.yaml": people } = Object(dig(map, "data"));
      if (typeof rules === "string") parseBundle({ file: set, text: rules });
      if (typeof people !== "string") continue;
      await writeFile(join(folder, "issuers.yaml"), people);
      issuers += (await readIssuers(join(folder, "issuers.yaml"))).length;
    }
  assert.equal(issuers, 1);
});
