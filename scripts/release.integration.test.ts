import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { kubernetesTool } from "../deploy/test/kubernetes-tools.ts";
import { containersOf, dig, ofKind } from "../deploy/test/read-manifests.ts";
import { runHelm } from "../deploy/test/render-chart.ts";
import { readManifests } from "../deploy/test/render-manifests.ts";
import { billOfMaterials } from "./release/bill-of-materials.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "release-test-"));
after(() => rm(folder, { recursive: true }));
const helm = (await kubernetesTool("helm")) ?? "";

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

const digests = ["1", "2"].map((digit) => `sha256:${digit.repeat(64)}`);

/** Replaces Docker, which has neither an engine nor a registry here: it records its arguments, and prints digests as buildx does. */
async function standIn(said: readonly string[]): Promise<string> {
  const bin = await mkdtemp(join(folder, "bin-"));
  const text = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require("node:fs");
const log = ${JSON.stringify(join(bin, "asked"))};
const count = existsSync(log) ? readFileSync(log, "utf8").trim().split("\\n").length : 0;
const args = process.argv.slice(2);
appendFileSync(log, JSON.stringify(args) + "\\n");
const said = ${JSON.stringify(said)}[count];
if (said === undefined) { console.error("ERROR: failed to push: denied"); process.exit(1); }
const facts = args.find((arg) => arg.startsWith("--metadata-file="));
if (facts === undefined) console.log(said);
else writeFileSync(facts.slice("--metadata-file=".length), JSON.stringify({ "containerimage.digest": said }));
`;
  await writeFile(join(bin, "docker"), text);
  await chmod(join(bin, "docker"), 0o755);
  return bin;
}

async function release(bin: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
  const script = join(root, "scripts/release.ts");
  return (await promisify(execFile)(process.execPath, [script, ...args], { env })).stdout;
}

test("both images stand on a base that is named by digest, and the chart's pods run exactly what was pushed", async (t) => {
  const bin = await standIn(digests);
  const dir = join(folder, "out");
  await release(bin, ["registry.example.com/switchyard", "1.2.0", "--dir", dir]);
  const asked = (await readFile(join(bin, "asked"), "utf8"))
    .trim()
    .split("\n")
    .map((line): string[] => JSON.parse(line));
  const [services = [], runtimes = []] = asked;
  assert.equal(asked.length, 2);
  assert.deepEqual(
    services.filter((arg) => arg.startsWith("--build-arg")),
    [],
  );
  const { devDependencies }: { devDependencies: { node: string } } = JSON.parse(
    await readFile(join(root, "package.json"), "utf8"),
  );
  const dockerfile = await readFile(join(root, "deploy/docker/Dockerfile"), "utf8");
  const base = /^ARG NODE_IMAGE=(.*)@sha256:[0-9a-f]{64}$/m.exec(dockerfile)?.[1];
  assert.equal(
    base,
    `node:${devDependencies.node}-bookworm-slim`,
    "the version that the tests run on",
  );
  const below = `--build-arg=SERVICES_IMAGE=registry.example.com/switchyard@${digests[0]}`;
  assert.ok(runtimes.includes(below), runtimes.join(" "));
  assert.ok(services.includes("--target=services") && runtimes.includes("--target=mcp"));
  for (const built of [services, runtimes])
    for (const arg of ["--platform=linux/amd64,linux/arm64", "--push"])
      assert.ok(built.includes(arg));
  assert.ok(runtimes.includes("--tag=registry.example.com/switchyard:1.2.0-mcp"));
  const bill: unknown = JSON.parse(await readFile(join(dir, "sbom.cdx.json"), "utf8"));
  assert.deepEqual(bill, JSON.parse(JSON.stringify(await billOfMaterials(root))));

  if (helm === "") return t.skip("there is no helm on this machine");
  const text = runHelm(helm, [
    "template",
    "switchyard",
    "switchyard",
    "-f",
    join(dir, "values.yaml"),
  ]);
  for (const deployment of ofKind(readManifests(text), "Deployment")) {
    const hasRuntimes = ["mcp-broker", "toolbox"].includes(deployment.metadata.name);
    for (const container of containersOf(deployment))
      assert.equal(
        dig(container, "image"),
        `registry.example.com/switchyard@${digests[hasRuntimes ? 1 : 0]}`,
      );
  }
});

test("what Docker refuses, a digest that it does not print and a name with a tag end the release", async () => {
  const end = (args: readonly string[], said: readonly string[]) =>
    standIn(said).then((bin) => release(bin, ["--dir", join(folder, "none"), ...args]));
  const image = ["registry.example.com/switchyard", "1.2.0"];
  await assert.rejects(end(image, []), {
    code: 1,
    stderr: "docker buildx build --file=deploy/docker/Dockerfile: ERROR: failed to push: denied\n",
  });
  await assert.rejects(end(image, ["<none>"]), {
    code: 1,
    stderr: /returned no digest of registry\S*1\.2\.0; its output: <none>/,
  });
  await assert.rejects(end(["Registry/x", "1.2.0"], digests), { code: 2, stderr: /without a tag/ });
  await assert.rejects(end(["registry/x"], digests), { code: 2, stderr: /^usage: / });
});
