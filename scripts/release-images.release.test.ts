// A release with a container engine: both images are built, pushed to a registry on loopback, signed, and used as a user gets them. It takes minutes, so
// it runs only on request:
//
//   YARD_TEST_DOCKER=1 npm run test:release -- scripts/release-images
//
// The engine needs buildx and its containerd image store. Without a registry of images, see deploy/test/base-images.sh.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  STEP_MS,
  composition,
  docker,
  removeProject,
  succeeded,
  whyNoComposition,
} from "../deploy/test/composition.ts";
import { publicKeyPem, whyUnsigned } from "./release/image-signature.ts";
import { startLoopbackRegistry } from "./release/loopback-registry.ts";
import { digestOf, openRepository } from "./release/oci-registry.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "release-images-"));
const dir = join(folder, "release");
const { privateKey } = generateKeyPairSync("ed25519");
const whyNot = whyNoComposition();
const registry = whyNot === false ? await startLoopbackRegistry(folder) : { skip: whyNot };
const skip = "skip" in registry ? registry.skip : false;
const host = `127.0.0.1:${"port" in registry ? registry.port : 0}`;
const repository = `${host}/you/switchyard`;

after(async () => {
  if ("stop" in registry) {
    docker(["image", "rm", "--force", ...imagesOf(host)]);
    registry.stop();
  }
  await rm(folder, { recursive: true });
});

function imagesOf(beginning: string): string[] {
  const all = docker(["image", "ls", "--quiet", "--filter", `reference=${beginning}/**`]);
  return all.text.split("\n").filter((line) => line !== "");
}

/** An image of this engine as the base, by its digest in the registry; nothing where the Dockerfile's is within reach. */
function baseArgs(): string[] {
  const named = process.env["NODE_IMAGE"];
  if (named === undefined) return [];
  const tag = `${host}/base/node:24`;
  succeeded(docker(["tag", named, tag]));
  const pushed = succeeded(docker(["push", tag]));
  const digest = /digest: (sha256:[0-9a-f]{64})/.exec(pushed)?.[1] ?? assert.fail(pushed);
  return ["--base", `${host}/base/node@${digest}`];
}

test(
  "a release builds both images, signs them, and people verify, pull and run them by digest",
  { skip, timeout: 4 * STEP_MS },
  async (t) => {
    const key = join(folder, "release.key");
    await writeFile(key, privateKey.export({ format: "pem", type: "pkcs8" }));
    const platform = `linux/${process.arch === "arm64" ? "arm64" : "amd64"}`;
    const options = ["--platforms", platform, ...baseArgs(), "--key", key, "--dir", dir];
    const program = join(root, "scripts/release.ts");
    await promisify(execFile)(process.execPath, [program, repository, "0.1.0", ...options], {
      cwd: folder,
      timeout: 3 * STEP_MS,
    });
    const { digest, mcpDigest, chart }: Built = JSON.parse(
      await readFile(join(dir, "images.json"), "utf8"),
    );

    await t.test("what the registry has is what was signed", async () => {
      const own = createPublicKey(await readFile(join(dir, "cosign.pub"), "utf8"));
      const other = join(folder, "other.pub");
      await writeFile(other, publicKeyPem(generateKeyPairSync("ed25519").privateKey));
      for (const [name, each] of [
        [repository, digest],
        [repository, mcpDigest],
        [`${repository}/charts/switchyard`, chart.digest],
      ] as const) {
        const stored = await openRepository(name).getManifest(each);
        assert.equal(digestOf(stored ?? Buffer.of()), each);
        assert.equal(await whyUnsigned(openRepository(name), each, own), null);
        const verified = cosign(join(dir, "cosign.pub"), `${name}@${each}`);
        if (verified === null) t.diagnostic("cosign is not installed: verified by this test alone");
        else {
          assert.equal(verified.status, 0, verified.stderr);
          assert.notEqual(cosign(other, `${name}@${each}`)?.status, 0);
        }
      }
    });

    await t.test("the pulled image for MCP servers has their runtimes", () => {
      docker(["image", "rm", "--force", ...imagesOf(`${host}/you`)]);
      const script =
        "id -u && node --version && python3 --version && git --version && uv --version";
      const args = ["run", "--rm", "--entrypoint", "sh", `${repository}@${mcpDigest}`, "-ec"];
      const printed = succeeded(docker([...args, script]));
      assert.match(printed, /^10001\nv24\..*\nPython .*\ngit .*\nuv /m);
    });

    await t.test(
      "a container of the pulled image answers a run that the policy decides",
      async (own) => {
        process.env["COMPOSE_FILE"] = "docker-compose.compact.yml";
        process.env["SWITCHYARD_IMAGE"] = `${repository}@${digest}`;
        process.env["SWITCHYARD_PULL_POLICY"] = "missing";
        const world = await composition("release");
        own.after(async () => {
          assert.deepEqual(world.remove(), []);
          await removeProject(world);
        });
        succeeded(world.compose(["up", "--detach", "--wait"]));
        const answer = succeeded(world.yard("run", "demo", "What is in this folder?"));
        assert.match(answer, /SUMMARY\.md was not written: .*rule \S+ denies/);
        assert.match(
          succeeded(world.compose(["run", "--rm", "--no-TTY", "auditor", "verify"])),
          /intact/,
        );
      },
    );
  },
);

interface Built {
  readonly digest: string;
  readonly mcpDigest: string;
  readonly chart: { readonly digest: string };
}

/** cosign's own verdict about an image; null where it is not installed. */
function cosign(key: string, image: string): { status: number | null; stderr: string } | null {
  const args = ["verify", "--key", key, "--insecure-ignore-tlog=true", image];
  const { status, stderr, error } = spawnSync("cosign", args, { encoding: "utf8" });
  return error === undefined ? { status, stderr } : null;
}
