import { createHash } from "node:crypto";
import { registryCredentials } from "./registry-credentials.ts";

/** One repository of an OCI registry, over https://github.com/opencontainers/distribution-spec. */
export interface OciRepository {
  /** Its address, as it is in the names of images. */
  readonly name: string;
  /** Stores bytes, unless they are there, and returns their descriptor. */
  putBlob(data: Buffer, mediaType: string): Promise<Descriptor>;
  /** Stores a manifest under a tag, and returns its digest. */
  putManifest(tag: string, manifest: OciManifest): Promise<string>;
  /** The bytes of a manifest by tag or digest; null: there is none. */
  getManifest(reference: string): Promise<Buffer | null>;
  getBlob(digest: string): Promise<Buffer>;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface OciManifest {
  readonly schemaVersion: 2;
  readonly mediaType: typeof MANIFEST;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";
const LIMIT_MS = 30_000;

/** Returns the digest of bytes as registries write it. */
export function digestOf(data: Uint8Array): string {
  return `sha256:${createHash("sha256").update(data).digest("hex")}`;
}

/** Is true for a registry on this machine's loopback, which Docker and Helm reach without TLS. */
export function isOnLoopback(repository: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?\//.test(repository);
}

/**
 * A repository such as `ghcr.io/you/switchyard`, with the credentials of `docker login`. Its methods reject with the registry's answer when
 * it refuses a request.
 */
export function openRepository(name: string): OciRepository {
  const { host, path } = placeOf(name);
  const base = `${isOnLoopback(name) ? "http" : "https"}://${host}`;
  let authorization: string | null = null;

  const send = async (where: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(where, base);
    const once = (): Promise<Response> => {
      const headers = new Headers(init.headers);
      if (authorization !== null) headers.set("authorization", authorization);
      return fetch(url, { ...init, headers, signal: AbortSignal.timeout(LIMIT_MS) });
    };
    const response = await once();
    if (response.status !== 401 || authorization !== null) return response;
    const challenge = response.headers.get("www-authenticate") ?? "";
    authorization = await authorizationFor(challenge, host);
    return once();
  };
  const sent = async (where: string, init: RequestInit): Promise<Response> => {
    const response = await send(where, init);
    if (response.ok) return response;
    const answer = (await response.text()).slice(0, 200);
    const hint = response.status === 401 ? `: log in with "docker login ${host}"` : "";
    throw new Error(`${name}: ${init.method} was answered ${response.status} ${answer}${hint}`);
  };

  return {
    name,
    async putBlob(data, mediaType) {
      const digest = digestOf(data);
      const found = await send(`/v2/${path}/blobs/${digest}`, { method: "HEAD" });
      if (!found.ok) {
        const begun = await sent(`/v2/${path}/blobs/uploads/`, { method: "POST" });
        const upload = new URL(begun.headers.get("location") ?? "", base);
        upload.searchParams.set("digest", digest);
        const headers = { "content-type": "application/octet-stream" };
        await sent(upload.href, { method: "PUT", headers, body: new Uint8Array(data) });
      }
      return { mediaType, digest, size: data.length };
    },
    async putManifest(tag, manifest) {
      const body = JSON.stringify(manifest);
      const headers = { "content-type": manifest.mediaType };
      await sent(`/v2/${path}/manifests/${tag}`, { method: "PUT", headers, body });
      return digestOf(Buffer.from(body));
    },
    async getManifest(reference) {
      const headers = { accept: `${MANIFEST}, ${INDEX}` };
      const response = await send(`/v2/${path}/manifests/${reference}`, { headers });
      return response.ok ? Buffer.from(await response.arrayBuffer()) : null;
    },
    async getBlob(digest) {
      const response = await sent(`/v2/${path}/blobs/${digest}`, { method: "GET" });
      return Buffer.from(await response.arrayBuffer());
    },
  };
}

/** Docker Hub is meant where no host is named, and has another host for its API. */
function placeOf(name: string): { readonly host: string; readonly path: string } {
  const [first = "", ...rest] = name.split("/");
  const isHost = /[.:]|^localhost$/.test(first) && rest.length > 0;
  if (!isHost) return { host: "registry-1.docker.io", path: name };
  return { host: first === "docker.io" ? "registry-1.docker.io" : first, path: rest.join("/") };
}

/** Answers a challenge: https://distribution.github.io/distribution/spec/auth/token/, or by name and password. */
async function authorizationFor(challenge: string, host: string): Promise<string | null> {
  const found = await registryCredentials(host);
  const basic = found === null ? null : `Basic ${Buffer.from(found).toString("base64")}`;
  if (!/^bearer /i.test(challenge)) return basic;
  const parts = new Map(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
  );
  const url = new URL(parts.get("realm") ?? "");
  for (const key of ["service", "scope"]) {
    const value = parts.get(key);
    if (value !== undefined) url.searchParams.set(key, value);
  }
  const headers = basic === null ? {} : { authorization: basic };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(LIMIT_MS) });
  if (!response.ok) return null;
  const reply: { token?: string; access_token?: string } = JSON.parse(await response.text());
  return `Bearer ${reply.token ?? reply.access_token}`;
}
