import { execFile } from "node:child_process";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { kubernetesTool } from "../../deploy/test/kubernetes-tools.ts";
import { isOnLoopback } from "./oci-registry.ts";

export interface PushedChart {
  /** Its address with the tag, as Helm reads it. */
  readonly chart: string;
  /** The same without scheme and tag. */
  readonly repository: string;
  readonly digest: string;
}

/** Packs the chart into a folder, and returns the name of the file. Rejects with what Helm says, and without Helm. */
export async function packChart(root: string, folder: string, version: string): Promise<string> {
  const chart = join(root, "deploy/helm/switchyard");
  const versions = ["--version", version, "--app-version", version];
  const said = await helm(["package", chart, ...versions, "--destination", resolve(folder)]);
  const path = /: (\S.*\.tgz)$/m.exec(said)?.[1];
  if (path === undefined) throw new Error(`helm package named no file: ${said.slice(0, 200)}`);
  return basename(path);
}

/**
 * Pushes a packed chart as an OCI artefact below a repository, and returns its address and digest. Needs `helm registry login`; a registry on loopback
 * is reached without TLS.
 */
export async function pushChart(path: string, repository: string): Promise<PushedChart> {
  const said = await helm([
    "push",
    path,
    `oci://${repository}/charts`,
    ...(isOnLoopback(repository) ? ["--plain-http"] : []),
  ]);
  const digest = /^Digest: (sha256:[0-9a-f]{64})$/m.exec(said)?.[1];
  const pushed = /^Pushed: (\S+)$/m.exec(said)?.[1];
  if (digest === undefined || pushed === undefined)
    throw new Error(`helm push returned no digest; its output: ${said.slice(0, 200) || "nothing"}`);
  // Helm prints the tag, too.
  return { chart: `oci://${pushed}`, repository: pushed.replace(/:[^:/]+$/, ""), digest };
}

async function helm(args: readonly string[]): Promise<string> {
  const program = await kubernetesTool("helm");
  if (program === null) throw new Error("there is no helm on this machine: install Helm 3 or 4");
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args);
    return stdout + stderr;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(`helm ${args[0]}: ${said || String(error)}`, { cause: error });
  }
}
