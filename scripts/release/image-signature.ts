import { createPublicKey, sign, verify, type KeyObject } from "node:crypto";
import { MANIFEST, type OciManifest, type OciRepository } from "./oci-registry.ts";

// The signatures of cosign with a key, https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md: a manifest beside what it is about, under a
// tag made of its digest.

const PAYLOAD = "application/vnd.dev.cosign.simplesigning.v1+json";
const ANNOTATION = "dev.cosignproject.cosign/signature";

/** Signs what a repository has under a digest, as `cosign sign --key` does. Rejects with the registry's answer. */
export async function signDigest(
  repository: OciRepository,
  digest: string,
  key: KeyObject,
): Promise<void> {
  const payload = Buffer.from(JSON.stringify(claimAbout(repository.name, digest)));
  const signature = sign(null, payload, key).toString("base64");
  const layer = await repository.putBlob(payload, PAYLOAD);
  const config = Buffer.from(
    JSON.stringify({
      architecture: "",
      os: "",
      config: {},
      rootfs: { type: "layers", diff_ids: [layer.digest] },
    }),
  );
  const manifest: OciManifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: await repository.putBlob(config, "application/vnd.oci.image.config.v1+json"),
    layers: [{ ...layer, annotations: { [ANNOTATION]: signature } }],
  };
  await repository.putManifest(signatureTag(digest), manifest);
}

/** The reason why no signature of that key vouches for what a repository has under a digest; null: one does, as `cosign verify --key` would say. */
export async function whyUnsigned(
  repository: OciRepository,
  digest: string,
  publicKey: KeyObject,
): Promise<string | null> {
  const text = await repository.getManifest(signatureTag(digest));
  if (text === null) return `${repository.name}@${digest} has no signature`;
  const { layers }: OciManifest = JSON.parse(text.toString());
  for (const { digest: payloadDigest, annotations } of layers) {
    const payload = await repository.getBlob(payloadDigest);
    const signature = Buffer.from(annotations?.[ANNOTATION] ?? "", "base64");
    if (!verify(null, payload, publicKey, signature)) continue;
    const { critical }: Claim = JSON.parse(payload.toString());
    if (critical.image["docker-manifest-digest"] === digest) return null;
  }
  return `${repository.name}@${digest} has no signature of this key`;
}

/** The public half of a key in PEM, which `cosign verify --key` reads. */
export function publicKeyPem(key: KeyObject): string {
  return createPublicKey(key).export({ format: "pem", type: "spki" }).toString();
}

interface Claim {
  readonly critical: {
    readonly identity: { readonly "docker-reference": string };
    readonly image: { readonly "docker-manifest-digest": string };
    readonly type: string;
  };
  readonly optional: null;
}

function claimAbout(name: string, digest: string): Claim {
  const type = "cosign container image signature";
  const identity = { "docker-reference": name };
  return {
    critical: { identity, image: { "docker-manifest-digest": digest }, type },
    optional: null,
  };
}

function signatureTag(digest: string): string {
  return `${digest.replace(":", "-")}.sig`;
}
