import { join } from "node:path";
import { addonImage } from "./build/images.ts";
import type { Kubectl } from "./kubectl.ts";
import { runProgram } from "./run-program.ts";

/** The certificate authority of the cluster, as each pod has it. */
const authority = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

/**
 * Installs metrics-server and KEDA with the manifests of their own modules, those that were built. Their images have other names here, and
 * the kubelets' certificates are from the cluster's authority.
 */
export async function installAddons(
  kubectl: Kubectl,
  { cache, program, missing }: { cache: string; program: string; missing: ReadonlySet<string> },
): Promise<readonly string[]> {
  const manifests = async (folder: string): Promise<string> =>
    await runProgram([program, "kustomize", join(cache, "manifests", folder)]);
  const installed: string[] = [];
  if (!missing.has("metrics-server")) {
    const text = (await manifests("metrics-server/base"))
      .replace(/image: \S*metrics-server\S*/, `image: ${addonImage("metrics-server")}`)
      .replace(
        /^( +)- --metric-resolution=15s$/m,
        `$1- --metric-resolution=15s\n$1- --kubelet-certificate-authority=${authority}`,
      );
    await applyAll(kubectl, text);
    installed.push("metrics-server");
  }
  if (!missing.has("keda") && !missing.has("keda-adapter")) {
    const text = (await manifests("keda/minimal"))
      .replace(/image: ghcr\.io\/kedacore\/keda:\S+/, `image: ${addonImage("keda")}`)
      .replace(
        /image: ghcr\.io\/kedacore\/keda-metrics-\S+/,
        `image: ${addonImage("keda-adapter")}`,
      )
      .replaceAll("imagePullPolicy: Always", "imagePullPolicy: Never");
    await applyAll(kubectl, text);
    installed.push("keda");
  }
  return installed;
}

/** From the server's side: the definitions of KEDA are too large for the annotation that a client would write. */
async function applyAll(kubectl: Kubectl, text: string): Promise<void> {
  await kubectl.run(["apply", "--server-side", "-f", "-"], { input: text });
}
