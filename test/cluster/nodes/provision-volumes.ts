import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Kubectl } from "../kubectl.ts";

const PROVISIONER = "switchyard.test/volumes";

export const storageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: {
    name: "shared",
    annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
  },
  provisioner: PROVISIONER,
  volumeBindingMode: "WaitForFirstConsumer",
  reclaimPolicy: "Delete",
};

interface Claim {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
  };
}

interface Volume {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly phase?: string };
}

/**
 * Makes a volume for each claim whose pod has a node, and deletes those whose claim is gone, until `signal` aborts. A volume is a folder that
 * both nodes see, as a network disk is, and of the type `local`, for which the kubelet sets the group as for a disk (`fsGroup`).
 */
export async function provisionVolumes(
  kubectl: Kubectl,
  { folder, nodes, signal }: { folder: string; nodes: readonly string[]; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const claims = await kubectl.list<Claim>("pvc", "--all-namespaces");
      for (const claim of claims) {
        const annotations = claim.metadata.annotations ?? {};
        const isOurs = annotations["volume.kubernetes.io/storage-provisioner"] === PROVISIONER;
        if (!isOurs || claim.spec.volumeName !== undefined) continue;
        await provision(kubectl, { claim, folder, nodes });
      }
      for (const { metadata, status } of await kubectl.list<Volume>("pv")) {
        if (status?.phase !== "Released") continue;
        await kubectl.run(["delete", "pv", metadata.name, "--wait=false"]);
        await rm(join(folder, metadata.name), { recursive: true, force: true });
      }
    } catch {
      // The API server may not be there yet, or end: the next pass tries again.
    }
    await delay(1_000, undefined, { signal }).catch(() => {});
  }
}

async function provision(
  kubectl: Kubectl,
  { claim, folder, nodes }: { claim: Claim; folder: string; nodes: readonly string[] },
): Promise<void> {
  const { name, namespace, uid } = claim.metadata;
  const volume = `pvc-${uid}`;
  const path = join(folder, volume);
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755); // owned by root: without fsGroup a pod of another user cannot write
  const isOnNode = { key: "kubernetes.io/hostname", operator: "In", values: nodes };
  await kubectl.apply({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volume },
    spec: {
      capacity: { storage: claim.spec.resources.requests.storage },
      accessModes: claim.spec.accessModes,
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: storageClass.metadata.name,
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid },
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [isOnNode] }] } },
    },
  });
}
