import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface Images {
  /** The address of the images, without tag or digest. */
  readonly repository: string;
  /** The Node.js image below, by digest. */
  readonly base: string;
  /** Digest of the image of all services. */
  readonly digest: string;
  /** Digest of the one with the runtimes of MCP servers on top. */
  readonly mcpDigest: string;
}

const DOCKERFILE = "deploy/docker/Dockerfile";
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const BY_DIGEST = /^\S+@sha256:[0-9a-f]{64}$/;

/**
 * Builds both images for all platforms on a base that is named by digest, and pushes them as `version` and `version`-mcp. Needs Docker with
 * buildx and its containerd image store, logged in to the registry. Rejects with what Docker said.
 */
export async function pushImages(wanted: {
  root: string;
  repository: string;
  version: string;
  platforms: string;
  /** The image of Node.js below them, by digest; undefined: the one that the Dockerfile names. */
  base: string | undefined;
}): Promise<Images> {
  const { root, repository, version } = wanted;
  const base = wanted.base ?? (await baseIn(root));
  if (!BY_DIGEST.test(base))
    throw new Error(`${base}: name the image of Node.js by its digest, NAME@sha256:…`);
  const below = wanted.base === undefined ? [] : [`NODE_IMAGE=${base}`];
  const digest = await build(wanted, { tag: version, target: "services", args: below });
  const mcpDigest = await build(wanted, {
    tag: `${version}-mcp`,
    target: "mcp",
    args: [...below, `SERVICES_IMAGE=${repository}@${digest}`],
  });
  return { repository, base, digest, mcpDigest };
}

async function baseIn(root: string): Promise<string> {
  const dockerfile = await readFile(join(root, DOCKERFILE), "utf8");
  const base = /^ARG NODE_IMAGE=(\S+@sha256:[0-9a-f]{64})$/m.exec(dockerfile)?.[1];
  if (base === undefined) throw new Error(`${DOCKERFILE} has no ARG NODE_IMAGE=…@sha256:…`);
  return base;
}

async function build(
  { root, repository, platforms }: { root: string; repository: string; platforms: string },
  image: { tag: string; target: string; args: readonly string[] },
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "release-"));
  try {
    const facts = join(folder, "facts.json");
    await docker(root, [
      "buildx",
      "build",
      `--file=${DOCKERFILE}`,
      `--target=${image.target}`,
      `--platform=${platforms}`,
      ...image.args.map((arg) => `--build-arg=${arg}`),
      `--tag=${repository}:${image.tag}`,
      `--metadata-file=${facts}`,
      "--provenance=true",
      "--push",
      ".",
    ]);
    const metadata: { "containerimage.digest"?: string } = JSON.parse(
      await readFile(facts, "utf8"),
    );
    return digestIn(metadata["containerimage.digest"] ?? "", `${repository}:${image.tag}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function digestIn(text: string, image: string): string {
  const digest = text.trim();
  if (DIGEST.test(digest)) return digest;
  throw new Error(
    `Docker returned no digest of ${image}; its output: ${digest.slice(0, 200) || "nothing"}`,
  );
}

async function docker(cwd: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)("docker", args, { cwd, maxBuffer: 64 * 1024 ** 2 })).stdout;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(`docker ${args.slice(0, 3).join(" ")}: ${said || String(error)}`, {
      cause: error,
    });
  }
}
