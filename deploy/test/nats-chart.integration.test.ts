import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "@switchyard/local-servers/free-port";
import { connectBus } from "@switchyard/bus/connect";
import { ensureStreams } from "@switchyard/bus/streams";
import { verifyStreams } from "@switchyard/bus/verify-streams";
import { ensureKeys } from "@switchyard/cli/key-directory";

import {
  inputFiles,
  payloadsOf,
  runArchive,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { allConsumers, allStreams } from "@switchyard/topology/streams";
import { untilHealthy } from "@switchyard/testing/test-cluster";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { parse } from "yaml";
import { typeErrors } from "./check-manifests.ts";
import { dig, ofKind, type Container } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { runHelm } from "./render-chart.ts";
import { readManifests, type Manifest } from "./render-manifests.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const valuesFile = join(root, "deploy/nats/chart-values.yaml");
const values: unknown = parse(readFileSync(valuesFile, "utf8"));
const chart = process.env["YARD_NATS_CHART"] ?? "";
const helm = (await kubernetesTool("helm")) ?? "";
const skip =
  (helm === "" && "there is no helm on this machine") ||
  (chart === "" &&
    "YARD_NATS_CHART is not set: let it name the folder helm/charts/nats of github.com/nats-io/k8s");

test("the values of NATS' chart equal the configuration of one server", () => {
  const conf = readFileSync(join(root, "deploy/nats/nats.conf"), "utf8");
  const reported = (name: string): unknown =>
    new RegExp(`^ *${name}: (\\S+)$`, "m").exec(conf)?.[1];
  const merged = dig(values, "config.merge");
  assert.equal(dig(merged, "max_payload"), `<< ${String(reported("max_payload"))} >>`);
  for (const name of ["ping_interval", "ping_max"])
    assert.equal(String(dig(merged, name)), reported(name), name);
  const always = dig(values, "config.jetstream.merge.sync_interval");
  assert.deepEqual([always, reported("sync_interval")], ["always", "always"]);
  assert.match(String(dig(merged, "$include")), /\/auth\.conf$/);
});

test("the values of NATS' chart are three servers with room for what the streams may grow to", () => {
  assert.equal(dig(values, "config.cluster.replicas"), 3);
  const bytes = (path: string): number =>
    Number(/^(\d+)Gi$/.exec(String(dig(values, path)))?.[1]) * 1024 ** 3;
  const room = bytes("config.jetstream.fileStore.maxSize");
  const buckets = [
    sharedPayloads,
    servicePayloads,
    inputFiles,
    runArchive,
    ...["cli", "auditor", "me"].map(payloadsOf),
  ];
  const needed = [...allStreams, ...buckets].reduce((sum, { maxBytes }) => sum + maxBytes, 0);
  assert.ok(room > needed, `${room} for ${needed} bytes`);
  assert.ok(bytes("config.jetstream.fileStore.pvc.size") > room);
  const single = readFileSync(join(root, "deploy/helm/switchyard/values.yaml"), "utf8");
  const image = String(dig(parse(single), "singleNats.image"));
  assert.equal(`nats:${String(dig(values, "container.image.tag"))}`, image);
});

test("NATS' chart knows every value, and makes restricted pods of them", { skip }, async (t) => {
  const known: unknown = parse(readFileSync(join(chart, "values.yaml"), "utf8"));
  assert.deepEqual(unknownOf(values, known), []);
  const rendered = render();
  assert.deepEqual(await typeErrors(rendered, t), "");
  const [set, ...others] = ofKind(rendered, "StatefulSet");
  assert.ok(set !== undefined && others.length === 0);
  assert.equal(dig(set, "spec.replicas"), 3);
  const pod = dig(set, "spec.template.spec");
  assert.equal(dig(pod, "securityContext.runAsNonRoot"), true);
  assert.equal(dig(pod, "automountServiceAccountToken"), false);
  const spread = dig(pod, "topologySpreadConstraints");
  assert.ok(Array.isArray(spread) && spread.length === 2);
  const containers = dig(pod, "containers") as Container[]; // checked by the Kubernetes types above
  assert.deepEqual(
    containers.map(({ name }) => name),
    ["nats", "reloader", "prom-exporter"],
  );
  for (const container of containers) {
    assert.deepEqual(dig(container, "securityContext.capabilities.drop"), ["ALL"], container.name);
    assert.equal(dig(container, "securityContext.allowPrivilegeEscalation"), false, container.name);
    assert.ok(dig(container, "resources.limits.memory"), container.name);
  }
  assert.ok(containers[1]?.args?.includes("/etc/nats-auth/auth.conf"), "a new list is reloaded");
  assert.equal(ofKind(rendered, "PodDisruptionBudget").length, 1);
  const policy = ofKind(rendered, "NetworkPolicy")[0];
  const labels = dig(set, "spec.template.metadata.labels");
  for (const [name, value] of Object.entries(dig(policy, "spec.podSelector.matchLabels") ?? {}))
    assert.equal(Object(labels)[name], value);
});

test(
  "three servers with the configuration that NATS' chart makes know the users of `yard keys init`, and keep three copies",
  { skip },
  async (t) => {
    const folder = await testDirectory();
    const keys = await ensureKeys(join(folder, "keys"));
    // Mounted beside the configuration, as in the pod.
    await mkdir(join(folder, "nats-auth"));
    await writeFile(join(folder, "nats-auth/auth.conf"), keys.authorization({ anonymous: false }));
    const map = ofKind(render(), "ConfigMap")[0];
    const conf = String(Object(dig(map, "data"))["nats.conf"]);
    const ports = await Promise.all([0, 1, 2].map(freePort));
    const servers = await Promise.all(
      ports.map((port, index) =>
        testNats({
          asProgram: true,
          dataDir: join(folder, `nats-${index}`),
          authorization: onThisMachine(conf, { folder, ports, index, port }),
        }),
      ),
    );
    await Promise.all(servers.map((server) => untilHealthy(server)));
    for (const { monitorUrl } of servers) {
      const reported: unknown = await (await fetch(new URL("/varz", monitorUrl))).json();
      assert.equal(dig(reported, "max_payload"), 1024 ** 2);
      assert.equal(dig(reported, "ping_interval"), 1_000_000_000);
      assert.equal(dig(reported, "ping_max"), 4);
      assert.equal(dig(reported, "jetstream.config.sync_always"), true);
      assert.equal(dig(reported, "jetstream.config.max_storage"), 28 * 1024 ** 3);
    }
    const url = servers.map((server) => server.url).join(",");
    await assert.rejects(connectBus({ servers: url, user: "admin" }), /NATS|key|authori/i);
    const nkeySeed = (): string => readFileSync(join(folder, "keys/admin.nk"), "utf8").trim();
    const bus = await connectBus({ servers: url, user: "admin", nkeySeed });
    t.after(() => bus.close());
    await ensureStreams(bus, { replicas: 3 });
    await verifyStreams(bus, allConsumers);
  },
);

function render(): Manifest[] {
  const files = ["--values", valuesFile, "--set", "promExporter.enabled=true"];
  const text = runHelm(helm, ["template", "nats", chart, "--namespace=nats", ...files]);
  // Kubernetes takes the chart's own null for none; its types do not.
  return readManifests(text.replace("annotations: null", "annotations: {}"));
}

/** Paths that the chart does not have. What is merged into Kubernetes objects is theirs. */
function unknownOf(ours: unknown, theirs: unknown, path = ""): string[] {
  if (typeof ours !== "object" || ours === null || Array.isArray(ours)) return [];
  return Object.entries(ours).flatMap(([key, value]) => {
    const at = path === "" ? key : `${path}.${key}`;
    if (typeof theirs !== "object" || theirs === null || !(key in theirs)) return [at];
    const isFree = ["merge", "env", "resources", "topologySpreadConstraints"].includes(key);
    return isFree ? [] : unknownOf(value, Object(theirs)[key], at);
  });
}

/** The chart's text with the ports, names and folders of this machine in place of those of a pod. */
function onThisMachine(
  conf: string,
  place: { folder: string; ports: readonly number[]; index: number; port: number },
): string {
  const { folder, ports, index, port } = place;
  return conf
    .replace(/^\{\n/, "")
    .replace(/\n\}\s*$/, "")
    .replace(/^ *"(?:http_)?port": (?:4222|8222),?\n/gm, "")
    .replace('"port": 6222', `"listen": "127.0.0.1:${port}"`)
    .replaceAll(
      /nats:\/\/nats-(\d)\.nats-headless:6222/g,
      (_, n) => `nats://127.0.0.1:${ports[Number(n)]}`,
    )
    .replace('"/data"', JSON.stringify(join(folder, `nats-${index}/data`)))
    .replace("/var/run/nats/nats.pid", join(folder, `nats-${index}/nats.pid`))
    .replace("$SERVER_NAME", `nats-${index}`);
}
