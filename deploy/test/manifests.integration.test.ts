import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceRedisUsers } from "@switchyard/topology/redis-access";
import {
  inputFiles,
  payloadsOf,
  runArchive,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { allStreams } from "@switchyard/topology/streams";
import { assertWellKept, typeErrors } from "./check-manifests.ts";
import { dig, keysOf, ofKind, variable } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { renderManifests, type Manifest } from "./render-manifests.ts";

const kubectl = (await kubernetesTool("kubectl")) ?? "";
const skip = kubectl === "" && "there is no kubectl on this machine";
const services = [
  "agent-runner",
  "channels",
  "gateway",
  "mcp-broker",
  "policy",
  "scheduler",
  "skill-importer",
  "toolbox",
];

for (const folder of ["base", "overlays/dev"]) {
  test(`${folder}: renders, and every manifest fits the Kubernetes types`, { skip }, async (t) => {
    const manifests = renderManifests(kubectl, folder);
    assert.deepEqual(await typeErrors(manifests, t), "");
  });

  test(
    `${folder}: runs every service with probes, limits, a clean stop and no privileges`,
    { skip },
    () => {
      const deployments = ofKind(renderManifests(kubectl, folder), "Deployment");
      assert.deepEqual(deployments.map((manifest) => manifest.metadata.name).toSorted(), services);
      for (const deployment of deployments) assertWellKept(deployment);
    },
  );
}

for (const folder of ["base", "overlays/dev"]) {
  test(
    `${folder}: each service is a user of its own in Redis, and has its own password alone`,
    { skip },
    () => {
      const manifests = renderManifests(kubectl, folder);
      const deployments = ofKind(manifests, "Deployment");
      const users = deployments.map((deployment) => redisUserOf(deployment));
      assert.deepEqual(users.toSorted(), serviceRedisUsers.map(({ name }) => name).toSorted());
      const endpoints = ofKind(manifests, "ConfigMap").find(({ metadata }) =>
        metadata.name.startsWith("yard-endpoints"),
      );
      const text = `${String(dig(endpoints, "data.redisScheme"))}://${String(dig(endpoints, "data.redisAddress"))}`;
      assert.match(text, /^rediss?:\/\/[a-z.]+:6379$/);
    },
  );
}

test(
  "overlays/dev: Redis lets in the users of the list alone, and its probes are the one of them that sees no key",
  { skip },
  () => {
    const redis = ofKind(renderManifests(kubectl, "overlays/dev"), "StatefulSet").find(
      ({ metadata }) => metadata.name === "redis",
    );
    const container = dig(redis, "spec.template.spec.containers.0");
    const args = dig(container, "args");
    assert.ok(Array.isArray(args));
    assert.equal(args[args.indexOf("--aclfile") + 1], "/keys/users.acl");
    assert.deepEqual(keysOf(redis), ["monitor.redis", "users.acl"]);
    for (const probe of ["startupProbe", "readinessProbe"])
      assert.match(JSON.stringify(dig(container, `${probe}.exec.command`)), /--user monitor ping/);
    // On a node that is short of CPU the start of redis-cli alone takes seconds.
    assert.deepEqual(dig(container, "livenessProbe.tcpSocket"), { port: "redis" });
  },
);

test(
  "a node that is short of CPU has three minutes for a start and 5 s for an answer",
  { skip },
  () => {
    const all = renderManifests(kubectl, "overlays/dev");
    const workloads = [...ofKind(all, "Deployment"), ...ofKind(all, "StatefulSet")];
    assert.ok(workloads.length >= 10);
    for (const { metadata, spec } of workloads) {
      const container = dig(spec, "template.spec.containers.0");
      const start = dig(container, "startupProbe");
      const seconds = Number(dig(start, "periodSeconds")) * Number(dig(start, "failureThreshold"));
      assert.ok(seconds >= 180, `${metadata.name} is killed after ${seconds} s`);
      for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
        assert.equal(dig(container, `${probe}.timeoutSeconds`), 5, `${metadata.name}, ${probe}`);
    }
  },
);

test("overlays/dev: NATS' disk holds what the streams may grow to", { skip }, () => {
  const sets = ofKind(renderManifests(kubectl, "overlays/dev"), "StatefulSet");
  const nats = sets.find(({ metadata }) => metadata.name === "nats");
  const request = dig(nats, "spec.volumeClaimTemplates.0.spec.resources.requests.storage");
  const bytes = Number(/^(\d+)Gi$/.exec(String(request))?.[1]) * 1024 ** 3;
  const buckets = [
    sharedPayloads,
    servicePayloads,
    inputFiles,
    runArchive,
    ...["cli", "auditor", "me"].map(payloadsOf),
  ];
  const needed = [...allStreams, ...buckets].reduce((sum, { maxBytes }) => sum + maxBytes, 0);
  assert.ok(bytes > needed, `${String(request)} for ${needed} bytes`);
});

/** The user that a service is in Redis, by everything that has to fit. */
function redisUserOf(deployment: Manifest): string {
  const container = dig(deployment, "spec.template.spec.containers.0");
  const url = String(variable(container, "YARD_REDIS_URL"));
  const user = /^\$\(REDIS_SCHEME\):\/\/([a-z]+)@\$\(REDIS_ADDRESS\)$/.exec(url)?.[1];
  assert.ok(user, `${deployment.metadata.name} is no user of Redis: ${url}`);
  const env = dig(container, "env");
  assert.ok(Array.isArray(env));
  const names = env.map(({ name }: { name: string }) => name);
  // Kubernetes substitutes only variables that are defined before.
  for (const part of ["REDIS_SCHEME", "REDIS_ADDRESS"])
    assert.ok(names.includes(part) && names.indexOf(part) < names.indexOf("YARD_REDIS_URL"), part);
  assert.equal(variable(container, "YARD_KEYS_DIR"), "/keys");
  const passwords = keysOf(deployment).filter((key) => key.endsWith(".redis"));
  assert.deepEqual(passwords, [`${user}.redis`]);
  return user;
}

for (const folder of ["base", "overlays/dev"]) {
  test(
    `${folder}: every ConfigMap and key that a pod needs is there, and deleting it deletes no data and no keys`,
    { skip },
    () => {
      const manifests = renderManifests(kubectl, folder);
      const maps = new Map(
        ofKind(manifests, "ConfigMap").map((map) => [map.metadata.name, dig(map, "data")]),
      );
      const needed = [...JSON.stringify(manifests).matchAll(REFERENCE)].map(([text]) => {
        const found: { configMapKeyRef: KeyReference } = JSON.parse(`{${text}}`);
        return found.configMapKeyRef;
      });
      assert.ok(needed.length > 20);
      for (const { name, key, optional = false } of needed)
        assert.ok(optional || dig(maps.get(name), key) !== undefined, `${name}: ${key}`);
      for (const kind of ["Namespace", "Secret", "PersistentVolumeClaim"])
        assert.deepEqual(ofKind(manifests, kind), [], kind);
    },
  );
}

const REFERENCE = /"configMapKeyRef":\{[^}]*\}/g;
interface KeyReference {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

test(
  "namespace: the namespace is restricted, and has the volume that pods mount",
  { skip },
  async (t) => {
    const manifests = renderManifests(kubectl, "namespace");
    assert.equal(await typeErrors(manifests, t), "");
    const [namespace] = ofKind(manifests, "Namespace");
    const level = Object(dig(namespace, "metadata.labels"))["pod-security.kubernetes.io/enforce"];
    assert.equal(level, "restricted");
    const [claim] = ofKind(manifests, "PersistentVolumeClaim");
    const pods = JSON.stringify(renderManifests(kubectl, "base"));
    assert.ok(pods.includes(`"claimName":"${String(claim?.metadata.name)}"`));
  },
);

test("base: the broker reaches no private address before an overlay names one", { skip }, () => {
  const permitted = (folder: string): unknown => {
    const manifests = renderManifests(kubectl, folder);
    const broker = ofKind(manifests, "Deployment").find(
      ({ metadata }) => metadata.name === "mcp-broker",
    );
    const env = dig(broker, "spec.template.spec.containers.0.env");
    assert.ok(Array.isArray(env));
    const entry = env.find(({ name }: { name: string }) => name === "YARD_MCP_ALLOW_PRIVATE_HOSTS");
    const { name, key } = dig(entry, "valueFrom.configMapKeyRef") as { name: string; key: string };
    const config = ofKind(manifests, "ConfigMap").find(({ metadata }) => metadata.name === name);
    return dig(config, `data.${key}`);
  };
  assert.equal(permitted("base"), "");
  assert.equal(permitted("overlays/dev"), "private");
});

test("the type check finds a misspelt key and a wrong type", { skip }, async (t) => {
  const [deployment] = ofKind(renderManifests(kubectl, "base"), "Deployment");
  assert.ok(deployment);
  const misspelt = { ...deployment, spec: { ...deployment.spec, replcas: 2 } };
  const mistyped = { ...deployment, spec: { ...deployment.spec, replicas: "two" } };
  assert.match(await typeErrors([misspelt], t), /replcas/);
  assert.match(await typeErrors([mistyped], t), /not assignable/);
});
