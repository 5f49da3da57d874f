import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { createHash, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { kubernetesTool } from "../deploy/test/kubernetes-tools.ts";
import { containersOf, dig, ofKind } from "../deploy/test/read-manifests.ts";
import { readManifests } from "../deploy/test/render-manifests.ts";
import { billOfMaterials } from "./release/bill-of-materials.ts";
import { DIGESTS, dockerStandIn, release } from "./release/docker-stand-in.ts";
import { publicKeyPem, whyUnsigned } from "./release/image-signature.ts";
import { startLoopbackRegistry } from "./release/loopback-registry.ts";
import { openRepository } from "./release/oci-registry.ts";

// A release with a real registry for its chart, pushed and fetched by Helm, and with Docker replaced: its base image comes from the public registry.

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "release-test-"));
const dir = join(folder, "out");
const keyFile = join(folder, "release.key");
const { privateKey } = generateKeyPairSync("ed25519");
await writeFile(keyFile, privateKey.export({ format: "pem", type: "pkcs8" }));
const helm = (await kubernetesTool("helm")) ?? "";
const registry =
  helm === ""
    ? { skip: "the OCI registry could not be used: there is no helm" }
    : await startLoopbackRegistry(folder);
const skip = "skip" in registry ? registry.skip : pythonIsMissing();
const repository = `127.0.0.1:${"port" in registry ? registry.port : 0}/you/switchyard`;
after(async () => {
  if ("stop" in registry) registry.stop();
  await rm(folder, { recursive: true });
});

test(
  "both images stand on a base that is named by digest, and the chart's pods run exactly what was pushed",
  { skip },
  async () => {
    const bin = await dockerStandIn(folder, DIGESTS);
    await release(bin, [repository, "0.1.0", "--dir", dir, "--key", keyFile]);
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
    const below = `--build-arg=SERVICES_IMAGE=${repository}@${DIGESTS[0]}`;
    assert.ok(runtimes.includes(below), runtimes.join(" "));
    assert.ok(services.includes("--target=services") && runtimes.includes("--target=mcp"));
    for (const built of [services, runtimes])
      for (const arg of ["--platform=linux/amd64,linux/arm64", "--push"])
        assert.ok(built.includes(arg));
    assert.ok(runtimes.includes(`--tag=${repository}:0.1.0-mcp`));
    const bill: unknown = JSON.parse(await readFile(join(dir, "sbom.cdx.json"), "utf8"));
    assert.deepEqual(bill, JSON.parse(JSON.stringify(await billOfMaterials(root))));

    // The chart comes from the registry, as a user gets it.
    const chart = `oci://${repository}/charts/switchyard`;
    const args = ["template", "switchyard", chart, "--version", "0.1.0", "--plain-http"];
    // Helm stores what it fetches.
    const env = { ...process.env, HELM_CACHE_HOME: join(folder, "helm") };
    const values = ["-f", join(dir, "values.yaml")];
    const { stdout: text } = await promisify(execFile)(helm, [...args, ...values], { env });
    for (const deployment of ofKind(readManifests(text), "Deployment")) {
      const hasRuntimes = ["mcp-broker", "toolbox"].includes(deployment.metadata.name);
      for (const container of containersOf(deployment))
        assert.equal(dig(container, "image"), `${repository}@${DIGESTS[hasRuntimes ? 1 : 0]}`);
    }
  },
);

test("checksums, provenance and signatures cover each file of the release", { skip }, async () => {
  const read = (file: string) => readFile(join(dir, file), "utf8");
  const sums = new Map(
    (await read("SHA256SUMS"))
      .trim()
      .split("\n")
      .map((line): [string, string] => [line.slice(66), line.slice(0, 64)]),
  );
  const unsummed = new Set(["SHA256SUMS", "SHA256SUMS.minisig", "minisign.pub", "cosign.pub"]);
  const files = (await readdir(dir)).filter((file) => !unsummed.has(file));
  assert.deepEqual(files.toSorted(), [...sums.keys()].toSorted());
  for (const [file, sum] of sums) {
    const data = await readFile(join(dir, file));
    assert.equal(createHash("sha256").update(data).digest("hex"), sum, file);
  }

  const envelope = JSON.parse(await read("provenance.intoto.jsonl")) as {
    payloadType: string;
    payload: string;
    signatures: { sig: string }[];
  };
  const body = Buffer.from(envelope.payload, "base64");
  const type = envelope.payloadType;
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${type.length} ${type} ${body.length} `),
    body,
  ]);
  const signature = Buffer.from(envelope.signatures[0]?.sig ?? "", "base64");
  assert.ok(verify(null, signed, createPublicKey(privateKey), signature));
  const statement = JSON.parse(body.toString()) as { subject: Subject[] };
  assert.deepEqual(statement, JSON.parse(await read("provenance.json")));
  const subjects = new Map(statement.subject.map(({ name, digest }) => [name, digest.sha256]));
  for (const file of files.filter((each) => !each.startsWith("provenance")))
    assert.equal(subjects.get(file), sums.get(file), file);
  const { chart } = JSON.parse(await read("images.json")) as {
    chart: { chart: string; digest: string };
  };
  assert.equal(`sha256:${subjects.get(chart.chart)}`, chart.digest);

  // Images and chart are signed in the registry, too.
  const publicKey = createPublicKey(await read("cosign.pub"));
  assert.equal(await read("cosign.pub"), publicKeyPem(privateKey));
  const other = createPublicKey(generateKeyPairSync("ed25519").privateKey);
  for (const [name, digest] of [
    ...DIGESTS.map((each): [string, string] => [repository, each]),
    [`${repository}/charts/switchyard`, chart.digest] as const,
  ]) {
    assert.equal(await whyUnsigned(openRepository(name), digest, publicKey), null);
    const why = await whyUnsigned(openRepository(name), digest, other);
    assert.match(why ?? "", /no signature of this key/);
  }

  const data = await readFile(join(dir, "SHA256SUMS"));
  const [pub, sig] = [await read("minisign.pub"), await read("SHA256SUMS.minisig")];
  assert.equal(verifiedComment(data, pub, sig), "switchyard 0.1.0");
  assert.equal(verifiedComment(Buffer.concat([data, data]), pub, sig), null);
});

test(
  "the client of Python is in the release as pip installs it, and in the bill of materials",
  { skip },
  async () => {
    const sums = await readFile(join(dir, "SHA256SUMS"), "utf8");
    for (const file of [WHEEL, "switchyard_client-0.1.0.tar.gz"])
      assert.ok(sums.includes(`  ${file}\n`), sums);
    const bill = await billOfMaterials(root);
    const ref = "pkg:pypi/switchyard-client@0.1.0";
    const { dependsOn = [] } = bill.dependencies.find((each) => each.ref === ref) ?? {};
    assert.ok(dependsOn.includes("pkg:pypi/httpx"), dependsOn.join());

    const place = join(folder, "site");
    const quiet = ["--quiet", "--disable-pip-version-check", "--target", place];
    const own = ["--no-index", "--no-deps", "--find-links", dir, "switchyard-client==0.1.0"];
    await python(["-m", "pip", "install", ...quiet, ...own]);
    assert.ok((await readdir(join(place, "switchyard_client"))).includes("py.typed"));
    // Its only dependency is replaced, so that no package of PyPI is needed.
    await writeFile(join(place, "httpx.py"), "def __getattr__(name): return type(name, (), {})\n");
    const script = "import switchyard_client as s; print(s.Client.start_run.__name__)";
    const { stdout } = await python(["-c", script], { PYTHONPATH: place });
    assert.equal(stdout.trim(), "start_run");
  },
);

const WHEEL = "switchyard_client-0.1.0-py3-none-any.whl";

function python(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  return promisify(execFile)("python3", args, { env: { ...process.env, ...more } });
}

/** The reason why the release cannot build the client of Python; or false. */
function pythonIsMissing(): string | false {
  const tools = join(root, "scripts/release/python-tools.txt");
  const args = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "-r", tools];
  const { status, stderr, error } = spawnSync("python3", args, { encoding: "utf8" });
  if (status === 0) return false;
  return `Python's packages could not be installed: ${(error?.message ?? stderr).slice(0, 300)}`;
}

interface Subject {
  readonly name: string;
  readonly digest: { readonly sha256: string };
}

/** These were made by minisign 0.11, for the text `hello` and a line end. */
const BY_MINISIGN = {
  publicKey:
    "untrusted comment: minisign public key 1BD01E836FA9B8EB\nRWTruKlvgx7QG2c3oLROST6indSvfL4xWvTRAn7rVTli9QUe08XWMN1J\n",
  signature:
    "untrusted comment: signature from minisign secret key\nRUTruKlvgx7QG57Of6QQIkQIWdsyw/YmNuo7LjGL4+5De9Hok9rfiKpt7OaqnpDt4mZiP39FD5vRz4meBKbt2ZO6nMO9xQXahQA=\ntrusted comment: made by minisign\npDbKZ3pp7dreNm/sGcaW7f4xvO/RBtYxgXYR6nmKuNeNotN+vr1eesiPXm0ppDuKrjbVZk7KT6clajI5CcGsAw==\n",
} as const;

test("this test reads minisign's own files", () => {
  const { publicKey, signature } = BY_MINISIGN;
  assert.equal(verifiedComment(Buffer.from("hello\n"), publicKey, signature), "made by minisign");
  assert.equal(verifiedComment(Buffer.from("hullo\n"), publicKey, signature), null);
});

/** Checks a signature as `minisign -V` does, https://jedisct1.github.io/minisign/, and returns the signed comment; null: it is not right. */
function verifiedComment(data: Buffer, publicKey: string, signature: string): string | null {
  const packed = Buffer.from(publicKey.split("\n")[1] ?? "", "base64");
  const x = packed.subarray(10).toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const [, first = "", comment = "", last = ""] = signature.split("\n");
  const own = Buffer.from(first, "base64");
  assert.equal(own.subarray(0, 2).toString(), "ED");
  if (!own.subarray(2, 10).equals(packed.subarray(2, 10))) return null;
  const trusted = comment.replace("trusted comment: ", "");
  const hash = createHash("blake2b512").update(data).digest();
  const both = Buffer.concat([own.subarray(10), Buffer.from(trusted)]);
  const isRight =
    verify(null, hash, key, own.subarray(10)) &&
    verify(null, both, key, Buffer.from(last, "base64"));
  return isRight ? trusted : null;
}
