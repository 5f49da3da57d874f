// The hooks of the chart check files before an upgrade, and start a run for `helm test`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { typeErrors } from "./check-manifests.ts";
import { dig, keysOf, ofKind, variable, type Container } from "./read-manifests.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { renderChart } from "./render-chart.ts";
import { readManifests, type Manifest } from "./render-manifests.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const helm = (await kubernetesTool("helm")) ?? "";
const skip = helm === "" && "there is no helm on this machine";
const CHECK = "switchyard-check-files";

const isHook = ({ metadata }: Manifest, kind: string): boolean =>
  JSON.stringify(metadata).includes(`"helm.sh/hook":"${kind}"`);

/** Writes what the Job mounts into a folder and runs its containers' commands there; the exit code of each. */
async function runChecks(t: TestContext, sets: string[]): Promise<Record<string, number | null>> {
  const manifests = readManifests(renderChart(helm, { sets })).filter((manifest) =>
    isHook(manifest, "pre-install,pre-upgrade"),
  );
  const [config] = ofKind(manifests, "ConfigMap");
  const [job] = ofKind(manifests, "Job");
  assert.deepEqual([config?.metadata.name, job?.metadata.name], [CHECK, CHECK]);
  const folder = await mkdtemp(join(tmpdir(), "chart-hooks-"));
  t.after(() => rm(folder, { recursive: true }));
  const data: Record<string, string> = Object(dig(config, "data"));
  for (const volume of [dig(job, "spec.template.spec.volumes")].flat()) {
    const name = String(dig(volume, "name"));
    const mount = join(folder, name);
    // As the kubelet does: a hidden folder for each version, a link to it, and a link for each file.
    await mkdir(join(mount, "..2026_01_01"), { recursive: true });
    await symlink("..2026_01_01", join(mount, "..data"));
    const items = (dig(volume, "configMap.items") ?? []) as { key: string; path: string }[];
    for (const { key, path } of items) {
      await writeFile(join(mount, "..data", path), data[key] ?? "");
      await symlink(join("..data", path), join(mount, path));
    }
  }
  // The documents are checked by the Kubernetes types.
  const containers = dig(job, "spec.template.spec.containers") as Container[];
  const codes = containers.map(({ name, args = [] }) => {
    const own = args.map((arg) => arg.replace("/check", folder));
    const env = { PATH: process.env["PATH"], HOME: folder, YARD_STATE_DIR: join(folder, "tmp") };
    const { status } = spawnSync(process.execPath, own, { cwd: root, env });
    return [name, status] as const;
  });
  return Object.fromEntries(codes);
}

test(
  "an upgrade is refused before it begins when rules or an agent's file have errors",
  { skip },
  async (t) => {
    assert.deepEqual(await runChecks(t, []), { agents: 0, policy: 0 });
    const rules = "policy.rules=version: 1\nrules: [{ id: a\\, effekt: allow }]";
    const agent = "skillImporter.agents.broken\\.yaml=temperature: 9";
    assert.deepEqual(await runChecks(t, [rules, agent]), { agents: 1, policy: 1 });
  },
);

test(
  "files in ConfigMaps of one's own are not checked, since an installation may make them, and the check can be left out",
  { skip },
  () => {
    const checked = (...sets: string[]): unknown[] => {
      const [job] = ofKind(readManifests(renderChart(helm, { sets })), "Job");
      return [dig(job, "spec.template.spec.containers") ?? []]
        .flat()
        .map((one) => dig(one, "name"));
    };
    assert.deepEqual(checked("policy.existingConfigMap=rules"), ["agents"]);
    assert.deepEqual(checked("skillImporter.existingConfigMap=agents"), ["policy"]);
    const both = ["policy.existingConfigMap=rules", "skillImporter.existingConfigMap=agents"];
    assert.deepEqual(checked(...both), []);
    assert.deepEqual(checked("checkFiles=false"), []);
  },
);

test("pods of hooks run on the nodes of the other pods, from the same registry", { skip }, () => {
  const manifests = readManifests(renderChart(helm, { values: "air-gapped" }));
  const [job] = ofKind(manifests, "Job");
  const [deployment] = ofKind(manifests, "Deployment");
  for (const pod of [dig(job, "spec.template"), manifests.find((one) => isHook(one, "test"))])
    for (const field of ["nodeSelector", "tolerations", "imagePullSecrets"]) {
      assert.ok(dig(pod, `spec.${field}`), field);
      assert.deepEqual(dig(pod, `spec.${field}`), dig(deployment, `spec.template.spec.${field}`));
    }
});

test(
  "helm test runs the agent of the values as the user cli, from a restricted pod",
  { skip },
  async (t) => {
    const manifests = readManifests(renderChart(helm, { values: "dev" }));
    const pod = manifests.find((manifest) => isHook(manifest, "test"));
    assert.ok(pod);
    assert.equal(await typeErrors([pod], t), "");
    const container = dig(pod, "spec.containers.0");
    assert.deepEqual(dig(container, "args"), ["apps/cli/src/main.ts", "run", "demo", "hello"]);
    assert.equal(variable(container, "YARD_NATS_NKEY_FILE"), "/keys/cli.nk");
    assert.deepEqual(keysOf({ spec: { template: pod } }), ["cli.nk"]);
    assert.equal(dig(pod, "spec.securityContext.runAsNonRoot"), true);
    assert.equal(dig(container, "securityContext.readOnlyRootFilesystem"), true);
  },
);

test("the example of a pod that publishes a run fits a restricted namespace and mounts its seed alone", async (t) => {
  const text = await readFile(join(root, "deploy/k8s/examples/publish-run.yaml"), "utf8");
  const [job] = readManifests(text);
  assert.ok(job);
  assert.equal(await typeErrors([job], t), "");
  const pod = dig(job, "spec.template.spec");
  const container = dig(pod, "containers.0");
  assert.equal(dig(pod, "securityContext.runAsNonRoot"), true);
  assert.equal(dig(pod, "securityContext.seccompProfile.type"), "RuntimeDefault");
  assert.deepEqual(dig(container, "securityContext.capabilities.drop"), ["ALL"]);
  const user = String(variable(container, "YARD_USER"));
  assert.equal(variable(container, "YARD_NATS_NKEY_FILE"), `/keys/${user}.nk`);
  assert.equal(dig(pod, "volumes.0.secret.secretName"), "switchyard-nats");
});

test("the example of a pod for backups fits a restricted namespace and mounts the volumes of the chart", async (t) => {
  const text = await readFile(join(root, "deploy/k8s/examples/backup.yaml"), "utf8");
  const [pod] = readManifests(text);
  assert.ok(pod);
  assert.equal(await typeErrors([pod], t), "");
  assert.equal(dig(pod, "spec.securityContext.runAsNonRoot"), true);
  assert.equal(dig(pod, "spec.securityContext.seccompProfile.type"), "RuntimeDefault");
  const container = dig(pod, "spec.containers.0");
  assert.deepEqual(dig(container, "securityContext.capabilities.drop"), ["ALL"]);
  const claims = [0, 1, 2].map((index) =>
    dig(pod, `spec.volumes.${index}.persistentVolumeClaim.claimName`),
  );
  assert.deepEqual(claims, ["data-nats-0", "data-redis-0", "toolbox-workspaces"]);
});
