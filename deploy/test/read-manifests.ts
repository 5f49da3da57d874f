import assert from "node:assert/strict";
import type { Manifest } from "./render-manifests.ts";

export function ofKind(manifests: Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

export function deploymentOf(manifests: Manifest[], name: string): Manifest {
  const found = ofKind(manifests, "Deployment").find(({ metadata }) => metadata.name === name);
  assert.ok(found, `there is no deployment ${name}`);
  return found;
}

export interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: { name: string }[];
  volumeMounts?: unknown[];
}

/** The init containers, and the containers. */
export function containersOf(deployment: Manifest): Container[] {
  const pod = dig(deployment, "spec.template.spec");
  const lists = [dig(pod, "initContainers"), dig(pod, "containers")];
  // The documents are checked by the Kubernetes types above.
  return lists.flatMap((list) => (Array.isArray(list) ? (list as Container[]) : []));
}

/** The keys that a pod gets. */
export function keysOf(workload: unknown): string[] {
  const volumes = dig(workload, "spec.template.spec.volumes");
  assert.ok(Array.isArray(volumes));
  const keys = volumes.find(({ name }: { name: string }) => name === "keys");
  const items = dig(keys, "secret.items");
  assert.ok(Array.isArray(items), "the whole secret is mounted");
  return items.map(({ key }: { key: string }) => key).toSorted();
}

/** The value of a container's variable, where it is a text. */
export function variable(container: unknown, name: string): unknown {
  const list = dig(container, "env");
  assert.ok(Array.isArray(list));
  return list.find((entry: { name: string }) => entry.name === name)?.value;
}

/** The value at a dotted path, or undefined. */
export function dig(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((at, key) => {
    if (typeof at !== "object" || at === null) return undefined;
    return (at as Record<string, unknown>)[key];
  }, value);
}
