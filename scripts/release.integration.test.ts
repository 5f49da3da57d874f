import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { billOfMaterials } from "./release/bill-of-materials.ts";
import { DIGESTS, dockerStandIn, release } from "./release/docker-stand-in.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "release-test-"));
after(() => rm(folder, { recursive: true }));

interface Lock {
  readonly packages: Record<
    string,
    {
      readonly version?: string;
      readonly dev?: boolean;
      readonly link?: boolean;
      readonly integrity?: string;
    }
  >;
}

test("the bill of materials has every package of the image with its digest, and none of development", async () => {
  const bill = await billOfMaterials(root);
  assert.equal(bill.bomFormat, "CycloneDX");
  const { packages }: Lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const outside = Object.entries(packages).filter(
    ([path, { link }]) => path.includes("node_modules/") && link !== true,
  );
  const refs = new Map(bill.components.map((component) => [component["bom-ref"], component]));
  assert.ok(refs.has("pkg:pypi/switchyard-client@0.1.0") && refs.has("pkg:pypi/httpx"));
  assert.equal(refs.size, bill.components.length);
  const named = (path: string, version = ""): string =>
    `${path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)}@${version}`;
  const needed = outside.filter(([, { dev }]) => dev !== true);
  assert.ok(needed.length > 80);
  for (const [path, { version, integrity = "" }] of needed) {
    const component = refs.get(named(path, version)) ?? assert.fail(`${path} is missing`);
    const [algorithm, digest = ""] = integrity.split("-");
    assert.equal(algorithm, "sha512", path);
    const content = Buffer.from(digest, "base64").toString("hex");
    assert.deepEqual(component.hashes, [{ alg: "SHA-512", content }], path);
  }
  const wanted = new Set(needed.map(([path, { version }]) => named(path, version)));
  for (const [path, { version, dev }] of outside)
    if (dev === true && !wanted.has(named(path, version)))
      assert.equal(refs.get(named(path, version)), undefined, `${path} is for development`);
  for (const { ref, dependsOn } of bill.dependencies)
    for (const each of [ref, ...dependsOn])
      assert.ok(refs.has(each) || each === bill.metadata.component["bom-ref"], each);
});

test("the same lock file gives the same bill, whatever the folder is called and the time is", async () => {
  const [first, second] = [await billOfMaterials(root), await billOfMaterials(root)];
  assert.deepEqual(second, first);
  assert.equal(first.metadata.component.name, "switchyard");
  assert.match(first.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-/);
});

test("what Docker refuses, a digest that it does not print and a name with a tag end the release", async () => {
  const end = (args: readonly string[], said: readonly string[]) =>
    dockerStandIn(folder, said).then((bin) =>
      release(bin, ["--dir", join(folder, "none"), ...args]),
    );
  const image = ["registry.example.com/switchyard", "0.1.0"];
  await assert.rejects(end(image, []), {
    code: 1,
    stderr: "docker buildx build --file=deploy/docker/Dockerfile: ERROR: failed to push: denied\n",
  });
  await assert.rejects(end(image, ["<none>"]), {
    code: 1,
    stderr: /returned no digest of registry\S*0\.1\.0; its output: <none>/,
  });
  await assert.rejects(end(["Registry/x", "0.1.0"], DIGESTS), { code: 2, stderr: /without a tag/ });
  await assert.rejects(end(["registry/x"], DIGESTS), { code: 2, stderr: /^usage: / });
  const other = {
    code: 1,
    stderr: "package.json has version 0.1.0, not 9.0.0: change it there first\n",
  };
  await assert.rejects(end(["registry/x", "9.0.0"], DIGESTS), other);
  await assert.rejects(end([...image, "--base", "node:24"], DIGESTS), {
    code: 1,
    stderr: "node:24: name the image of Node.js by its digest, NAME@sha256:…\n",
  });
  const noKey = end([...image, "--key", join(folder, "none.key")], DIGESTS);
  await assert.rejects(noKey, {
    code: 1,
    stderr: /none\.key cannot be read; make one with: openssl genpkey /,
  });
});
