import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { dig, variable } from "./read-manifests.ts";
import { typedManifests, type Manifest } from "./render-manifests.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Probes, limits, a clean stop and no privileges. */
export function assertWellKept(deployment: Manifest): void {
  const { name } = deployment.metadata;
  const pod = dig(deployment, "spec.template.spec");
  const container = dig(pod, "containers.0");
  for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
    assert.ok(dig(container, probe), `${name} has no ${probe}`);
  }
  assert.equal(dig(container, "livenessProbe.httpGet.path"), "/livez", name);
  assert.equal(dig(container, "readinessProbe.httpGet.path"), "/readyz", name);
  assert.equal(dig(pod, "securityContext.runAsNonRoot"), true, name);
  assert.equal(dig(pod, "automountServiceAccountToken"), false, name);
  assert.equal(dig(container, "securityContext.readOnlyRootFilesystem"), true, name);
  assert.equal(dig(container, "securityContext.allowPrivilegeEscalation"), false, name);
  assert.deepEqual(dig(container, "securityContext.capabilities.drop"), ["ALL"], name);
  assert.ok(dig(container, "resources.requests.memory"), name);
  assert.ok(dig(container, "resources.limits.memory"), name);
  const pauseMs = Number(dig(container, "lifecycle.preStop.sleep.seconds")) * 1000;
  const drainMs = Number(variable(container, "YARD_DRAIN_MS"));
  const graceMs = Number(dig(pod, "terminationGracePeriodSeconds")) * 1000;
  assert.ok(
    pauseMs + drainMs < graceMs,
    `${name}: ${pauseMs} + ${drainMs} is not below ${graceMs} ms`,
  );
  const secrets = JSON.stringify(dig(container, "env"));
  assert.ok(
    !/SEED|PASSWORD(?!_FILE")|secretKeyRef/.test(secrets),
    `${name} takes a secret from its environment`,
  );
}

/** The compiler's errors about the manifests, or an empty string. */
export async function typeErrors(
  manifests: Manifest[],
  t: { after(stop: () => Promise<void>): void },
): Promise<string> {
  // Below the repository, so that the compiler finds the installed types.
  const folder = await mkdtemp(join(root, "node_modules/.manifests-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "manifests.ts"), typedManifests(manifests));
  const tsc = spawnSync(
    join(root, "node_modules/.bin/tsc"),
    [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--types",
      "",
      "manifests.ts",
    ],
    { cwd: folder, encoding: "utf8" },
  );
  return tsc.stdout + tsc.stderr;
}
