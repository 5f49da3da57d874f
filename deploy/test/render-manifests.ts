import { execFileSync, spawnSync } from "node:child_process";
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

/** The command that renders a kustomization here, or null when neither kubectl nor kustomize is installed. */
export function kustomizeCommand(): string[] | null {
  const candidates = [
    ["kubectl", "kustomize"],
    ["kustomize", "build"],
  ];
  return (
    candidates.find(
      ([tool]) => spawnSync(tool ?? "", ["version", "--client"]).error === undefined,
    ) ?? null
  );
}

/** Renders a folder of `deploy/k8s`. Throws with the tool's own message when it is refused. */
export function renderManifests(command: string[], folder: string): Manifest[] {
  const [tool = "", ...args] = command;
  const text = execFileSync(tool, [...args, `deploy/k8s/${folder}`], {
    cwd: root,
    encoding: "utf8",
  });
  // The documents are checked by the Kubernetes types in manifests.integration.test.ts.
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
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
  return apiVersion.startsWith("keda.sh/")
    ? `@kubernetes-models/keda/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;
}
