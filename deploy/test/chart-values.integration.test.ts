// Effects of single values of the chart, and values that are refused.
import assert from "node:assert/strict";
import { basename, dirname } from "node:path";
import { test } from "node:test";
import { REMOVED_SETTINGS } from "@switchyard/service/removed-settings";
import { readRedisUrl } from "@switchyard/service/redis-url";
import { containersOf, deploymentOf, dig, ofKind, variable } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { renderChart } from "./render-chart.ts";
import { readManifests } from "./render-manifests.ts";

const helm = (await kubernetesTool("helm")) ?? "";
const skip = helm === "" && "there is no helm on this machine";

const redisUrlOf = (container: unknown): string =>
  String(variable(container, "YARD_REDIS_URL")).replaceAll(/\$\((\w+)\)/g, (_, name: string) =>
    String(variable(container, name)),
  );

test("every service gets the address of Sentinels in the form that it reads", { skip }, () => {
  const own = ["scheme=redis+sentinel", "address=s1.redis:26379\\,s2.redis:26379/main"];
  const manifests = readManifests(renderChart(helm, { sets: own.map((set) => `redis.${set}`) }));
  for (const deployment of ofKind(manifests, "Deployment")) {
    const container = dig(deployment, "spec.template.spec.containers.0");
    const url = redisUrlOf(container);
    const place = readRedisUrl(url);
    assert.equal(place?.primary, "main", url);
    assert.equal(place.hosts.length, 2);
    assert.notEqual(place.username, "");
  }
});

test("the Sentinels' password is a Secret of every service", { skip }, () => {
  const own = ["scheme=rediss+sentinel", "address=s1:26379/main", "sentinelSecret=sentinels"];
  const manifests = readManifests(renderChart(helm, { sets: own.map((set) => `redis.${set}`) }));
  for (const deployment of ofKind(manifests, "Deployment")) {
    const container = dig(deployment, "spec.template.spec.containers.0");
    const directory = String(variable(container, "YARD_KEYS_DIR"));
    const mounts = JSON.stringify(container);
    assert.match(mounts, new RegExp(`"mountPath":"${directory}"`), deployment.metadata.name);
    const volumes = [dig(deployment, "spec.template.spec.volumes")].flat();
    const volume = volumes.find((each) => dig(each, "name") === "keys");
    const [keys, ofSentinels, ...others] = [dig(volume, "projected.sources")].flat();
    assert.equal(dig(keys, "secret.name"), "yard-keys");
    const items = [{ key: "password", path: "sentinel.password" }];
    assert.deepEqual(ofSentinels, { secret: { name: "sentinels", items } });
    assert.deepEqual(others, []);
  }
});

test(
  "the client secret of OIDC is beside the keys of the gateway, and of no other service",
  { skip },
  () => {
    const sets = ["gateway.oidc.secret=oidc"];
    const manifests = readManifests(renderChart(helm, { sets }));
    const given = ofKind(manifests, "Deployment").filter((deployment) =>
      JSON.stringify(deployment).includes("oidc-client.secret"),
    );
    assert.deepEqual(
      given.map(({ metadata }) => metadata.name),
      ["gateway"],
    );
    const volumes = [dig(given[0], "spec.template.spec.volumes")].flat();
    const volume = volumes.find((each) => dig(each, "name") === "keys");
    const items = [{ key: "client-secret", path: "oidc-client.secret" }];
    assert.deepEqual(dig(volume, "projected.sources.1"), { secret: { name: "oidc", items } });
  },
);

test("a setting that was removed is refused with what replaces it", { skip }, () => {
  const replacement = REMOVED_SETTINGS["YARD_HTTP_HOST"] ?? "none";
  const refused = (error: Error): boolean => error.message.includes(replacement);
  for (const values of ["gateway", "compact"])
    assert.throws(() => renderChart(helm, { sets: [`${values}.env.YARD_HTTP_HOST=::`] }), refused);
  renderChart(helm, { sets: ["gateway.env.YARD_HTTP_HOST="] });
});

test("every service gets some nodes of a Redis Cluster", { skip }, () => {
  const own = ["scheme=rediss+cluster", "address=n1.redis:6379\\,n2.redis:6379"];
  const manifests = readManifests(renderChart(helm, { sets: own.map((set) => `redis.${set}`) }));
  for (const deployment of ofKind(manifests, "Deployment")) {
    const container = dig(deployment, "spec.template.spec.containers.0");
    const url = redisUrlOf(container);
    const { kind, hosts, tls } = readRedisUrl(url) ?? {};
    assert.deepEqual([kind, hosts?.length, tls], ["cluster", 2, true], url);
  }
});

test("NATS and Redis of one pod are there each by itself, and services find them", { skip }, () => {
  const endpointsWith = (set: string) => {
    const manifests = readManifests(renderChart(helm, { sets: [set] }));
    const policy = dig(deploymentOf(manifests, "policy"), "spec.template.spec.containers.0");
    return {
      sets: ofKind(manifests, "StatefulSet").map(({ metadata }) => metadata.name),
      nats: variable(policy, "YARD_NATS_URL"),
      redis: redisUrlOf(policy),
    };
  };
  const nats = "nats://nats.nats.svc.cluster.local:4222";
  const redis = "redis://policy@redis.redis.svc.cluster.local:6379";
  assert.deepEqual(endpointsWith("singleNats.enabled=true"), {
    sets: ["nats"],
    nats: "nats://nats:4222",
    redis,
  });
  assert.deepEqual(endpointsWith("singleRedis.enabled=true"), {
    sets: ["redis"],
    nats,
    redis: "redis://policy@redis:6379",
  });
  assert.deepEqual(endpointsWith("image.tag=x"), { sets: [], nats, redis });
});

test("kinds that an operator brings are rendered only on request", { skip }, () => {
  const own = /^(?:v1|(?:apps|autoscaling|batch|policy|networking\.k8s\.io)\/v\d+)$/;
  const brought = (set: string) => {
    const strange = readManifests(renderChart(helm, { values: set })).filter(
      ({ apiVersion }) => !own.test(apiVersion),
    );
    return [...new Set(strange.map(({ kind }) => kind))].toSorted();
  };
  for (const set of ["minimal", "dev", "air-gapped", "coding-agents"])
    assert.deepEqual(brought(set), [], set);
  assert.deepEqual(brought("external"), ["ExternalSecret"]);
  assert.deepEqual(brought("multi-team"), ["HTTPRoute", "PodMonitor"]);
  assert.deepEqual(brought("production"), ["PodMonitor", "PrometheusRule", "ScaledObject"]);
});

test(
  "approvers do not decide about their own calls, except in the values for one person",
  { skip },
  () => {
    const own = (values: string) => {
      const manifests = readManifests(renderChart(helm, { values }));
      const policy = dig(deploymentOf(manifests, "policy"), "spec.template.spec.containers.0");
      return variable(policy, "YARD_APPROVE_OWN");
    };
    // Left out, the policy service takes `none`.
    assert.deepEqual(["minimal", "production", "dev"].map(own), [undefined, "none", "all"]);
  },
);

const refused: readonly [set: string, message: RegExp][] = [
  ["singleNodes.enabled=true", /additional properties 'singleNodes' not allowed/],
  ["natz.url=x", /additional properties 'natz' not allowed/],
  ["gateway.replicas=two", /'\/gateway\/replicas': got string, want integer/],
  [
    "redis.scheme=http",
    /'\/redis\/scheme': value must be one of 'redis', 'rediss', 'redis\+sentinel', 'rediss\+sentinel', 'redis\+cluster', 'rediss\+cluster'/,
  ],
  ["redis.address=redis://u:p@redis:6379", /'\/redis\/address'.* does not match pattern/],
  ["redis.scheme=redis+sentinel", /redis\.address: the name of the primary/],
  ["redis.address=a:6379\\,b:6379", /redis\.address: several addresses belong to/],
  ["redis.sentinelSecret=x", /redis\.sentinelSecret: only Sentinels/],
  ["nats.url=nats://user:pass@nats:4222", /'\/nats\/url'.* does not match pattern/],
  ["image.digest=latest", /'\/image\/digest'.* does not match pattern/],
  ["policy.pod.tolerantions[0]=x", /additional properties 'tolerantions' not allowed/],
  ["agentRunner.autoscaling.by=cron", /must be one of 'none', 'keda', 'hpa'/],
  ["agentRunner.env.OPENAI_API_KEY=k", /belong into a Secret that agentRunner\.secrets names/],
  ["mcpServers.x.image=y", /mcpServers: mcpBroker\.privateHosts has to permit/],
  ["mcpServers.x.port=8080", /missing property 'image'/],
  ["toolbox.replicas=2", /toolbox\.replicas: more than one needs .*ReadWriteMany/],
  ["toolbox.sandbox=docker", /must be one of 'none', 'userNamespaces'/],
  ["mode=both", /must be one of 'apart', 'compact'/],
  ["gateway.ingress.enabled=true", /gateway\.ingress\.host: the Ingress needs a name/],
  ["gateway.oidc.issuer=https://login.example.com", /gateway\.url: sign-in by OIDC needs/],
];

test("keys of bundled servers in another Secret are refused", { skip }, () => {
  const sets = ["singleNats.enabled=true", "keys.secret=other"];
  const message = /singleNats\.keysSecret: it has to be keys\.secret, other/;
  assert.throws(() => renderChart(helm, { sets }), { message });
});

test("invalid values are refused, and the message names them and the reason", { skip }, () => {
  for (const [set, message] of refused)
    assert.throws(() => renderChart(helm, { sets: [set] }), { message }, set);
});

test(
  "the settings of tools are a file that the toolbox reads; without them it gets none",
  { skip },
  () => {
    const toolbox = (sets: string[]) => {
      const manifests = readManifests(renderChart(helm, { sets }));
      const pod = dig(deploymentOf(manifests, "toolbox"), "spec.template.spec");
      const config = ofKind(manifests, "ConfigMap").find(({ metadata }) =>
        metadata.name.startsWith("yard-tools"),
      );
      return { pod, file: variable(dig(pod, "containers.0"), "YARD_TOOLS_FILE"), config };
    };
    const { pod, file, config } = toolbox(["toolbox.toolSettings.sessions.visibility=self"]);
    assert.deepEqual(Object.entries(dig(config, "data") ?? {}), [
      [basename(String(file)), JSON.stringify({ sessions: { visibility: "self" } }, null, 2)],
    ]);
    assert.match(JSON.stringify(pod), new RegExp(`"mountPath":"${dirname(String(file))}"`));
    assert.match(
      JSON.stringify(pod),
      new RegExp(`"configMap":\\{"name":"${config?.metadata.name}"`),
    );
    const without = toolbox(["image.tag=x"]);
    assert.deepEqual([without.file, without.config], [undefined, undefined]);
  },
);

test(
  "with a sandbox for commands the toolbox alone gets user namespaces, and it requires one that works",
  { skip },
  () => {
    const manifests = readManifests(
      renderChart(helm, { sets: ["toolbox.sandbox=userNamespaces"], hooks: false }),
    );
    for (const workload of ofKind(manifests, "Deployment")) {
      const isToolbox = workload.metadata.name === "toolbox";
      const pod = dig(workload, "spec.template.spec");
      const container = dig(pod, "containers.0");
      const security = dig(container, "securityContext");
      const profile = { type: "Localhost", localhostProfile: "switchyard-toolbox.json" };
      assert.equal(dig(pod, "hostUsers"), isToolbox ? false : undefined);
      assert.equal(dig(security, "procMount"), isToolbox ? "Unmasked" : undefined);
      assert.deepEqual(dig(security, "seccompProfile"), isToolbox ? profile : undefined);
      assert.deepEqual(dig(security, "capabilities.drop"), ["ALL"]);
      assert.equal(variable(container, "YARD_SANDBOX"), isToolbox ? "require" : undefined);
    }
    assert.throws(
      () => renderChart(helm, { sets: ["toolbox.sandbox=userNamespaces", "mode=compact"] }),
      { message: /toolbox\.sandbox: in compact mode/ },
    );
  },
);

test("the files of agents stay when a release is uninstalled", { skip }, () => {
  const [claim, ...others] = ofKind(readManifests(renderChart(helm)), "PersistentVolumeClaim");
  assert.deepEqual(others, []);
  assert.deepEqual(dig(claim, "metadata.annotations"), { "helm.sh/resource-policy": "keep" });
});

/** Sums the requests of all pods of a value set, in millicores and MiB. */
function requestsOf(values: string): { cpu: number; memory: number } {
  const sum = { cpu: 0, memory: 0 };
  const manifests = readManifests(renderChart(helm, { values, hooks: false }));
  for (const kind of ["Deployment", "StatefulSet"])
    for (const workload of ofKind(manifests, kind)) {
      const requests = dig(workload, "spec.template.spec.containers.0.resources.requests");
      const replicas = Number(dig(workload, "spec.replicas"));
      sum.cpu += replicas * Number(/^(\d+)m$/.exec(String(dig(requests, "cpu")))?.[1]);
      sum.memory += replicas * Number(/^(\d+)Mi$/.exec(String(dig(requests, "memory")))?.[1]);
    }
  return sum;
}

test(
  "two cores have room for an installation to try things out, and for the pods of its upgrade",
  { skip },
  () => {
    const dev = requestsOf("dev");
    assert.ok(dev.cpu <= 600 && dev.memory <= 2_560, JSON.stringify(dev));
    const compact = requestsOf("compact");
    assert.ok(compact.cpu <= 500 && compact.memory <= 768, JSON.stringify(compact));
  },
);

test("the container that makes the streams waits for a NATS that comes later", { skip }, () => {
  for (const values of ["dev", "compact", "external"]) {
    const manifests = readManifests(renderChart(helm, { values, hooks: false }));
    const made = ofKind(manifests, "Deployment")
      .flatMap(containersOf)
      .filter(({ name }) => name === "streams");
    assert.deepEqual(
      made.map(({ args }) => args),
      [["apps/cli/src/main.ts", "streams", "ensure", "--wait"]],
      values,
    );
  }
});
