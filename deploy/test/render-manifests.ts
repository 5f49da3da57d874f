import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

/** A Kubernetes object as far as these tests look into it. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: Record<string, unknown>;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Renders a folder of `deploy/k8s` with kubectl. Throws with the tool's own message when it is refused. */
export function renderManifests(kubectl: string, folder: string): Manifest[] {
  const text = execFileSync(kubectl, ["kustomize", `deploy/k8s/${folder}`], {
    cwd: root,
    encoding: "utf8",
  });
  return readManifests(text);
}

export function readManifests(text: string): Manifest[] {
  const documents = parseAllDocuments(text).map((document) => document.toJS());
  // The documents are checked by the Kubernetes types in the tests.
  return documents.filter((document) => document !== null) as Manifest[];
}

/**
 * A TypeScript file that assigns each manifest to the type of its kind: the compiler finds wrong
 * types and, since the values are literals, keys that do not exist.
 */
export function typedManifests(manifests: readonly Manifest[]): string {
  const lines = manifests.flatMap((manifest, index) => [
    `import type { I${manifest.kind} as T${index} } from "${moduleOf(manifest.apiVersion)}";`,
    `export const m${index}: T${index} = ${JSON.stringify(manifest)};`,
  ]);
  return `${lines.join("\n")}\n`;
}

function moduleOf(apiVersion: string): string {
  const group = apiVersion.split("/")[0] ?? "";
  return `${packages[group] ?? "kubernetes-models"}/${apiVersion}`;
}

/** The types of kinds that a cluster does not have by itself. */
const packages: Record<string, string> = {
  "keda.sh": "@kubernetes-models/keda",
  "gateway.networking.k8s.io": "@kubernetes-models/gateway-api",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
};
