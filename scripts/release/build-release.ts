import type { KeyObject } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { billOfMaterials } from "./bill-of-materials.ts";
import { packChart, pushChart, type PushedChart } from "./chart-package.ts";
import { sha256Of, writeChecksums } from "./checksums.ts";
import { publicKeyPem, signDigest } from "./image-signature.ts";
import { minisign, minisignPublicKey, readSigningKey } from "./minisign.ts";
import { npmPackages } from "./npm-packages.ts";
import { openRepository } from "./oci-registry.ts";
import { provenanceOf, signedEnvelope } from "./provenance.ts";
import { pushImages, type Images } from "./push-images.ts";
import { pythonPackage, pythonProject } from "./python-package.ts";

interface Wanted {
  readonly root: string;
  /** The address of the images, without a tag; null: nothing is pushed, and no images are built. */
  readonly repository: string | null;
  readonly version: string;
  readonly platforms: string;
  /** The image of Node.js below ours, by digest; undefined: the Dockerfile's. */
  readonly base: string | undefined;
  /** A private key in PEM; undefined: nothing is signed. */
  readonly keyFile: string | undefined;
  readonly folder: string;
}

/** Builds a release, and returns lines for a person. Rejects with what the tools say; what was pushed before stays pushed. */
export async function buildRelease(wanted: Wanted): Promise<string[]> {
  const { root, repository, version, platforms, base, keyFile, folder } = wanted;
  const startedAt = new Date();
  // Mistakes that a person can correct are found before anything is pushed.
  const key = keyFile === undefined ? null : await readSigningKey(keyFile);
  await checkVersion(root, version);
  const bill = await billOfMaterials(root);
  const images =
    repository === null ? null : await pushImages({ root, repository, version, platforms, base });
  const files = [...(await npmPackages(root, folder)), ...(await pythonPackage(root, folder))];
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(join(folder, name), text);
    files.push(name);
  };
  await write("sbom.cdx.json", json(bill));
  const chart = await packChart(root, folder, version);
  files.push(chart);
  const pushed = repository === null ? null : await pushChart(join(folder, chart), repository);
  if (key !== null) await signPushed({ images, chart: pushed, key });
  if (images !== null) {
    await write("values.yaml", valuesOf(images));
    await write("images.json", json({ version, ...images, chart: pushed }));
  }

  const provenance = await provenanceOf({
    root,
    startedAt,
    parameters: { version, ...(repository === null ? {} : { repository, platforms }) },
    subject: [...(await subjectsOf(folder, files)), ...pushedSubjects(images, pushed)],
    base: images?.base ?? null,
  });
  await write("provenance.json", json(provenance));
  if (key !== null) {
    await write("provenance.intoto.jsonl", signedEnvelope(provenance, key));
    await writeFile(join(folder, "minisign.pub"), minisignPublicKey(key));
    await writeFile(join(folder, "cosign.pub"), publicKeyPem(key));
  }
  const sums = await writeChecksums(folder, files);
  if (key !== null) {
    const text = await readFile(join(folder, sums));
    const comment = `switchyard ${version}`;
    await writeFile(join(folder, `${sums}.minisig`), minisign(key, text, comment));
  }
  const isSigned = key === null ? "not signed: name a key with --key" : "signed";
  return [
    `${folder} has switchyard ${version}, ${isSigned}`,
    ...(images === null ? [] : [`${images.repository}:${version} is ${images.digest}`]),
    ...(pushed === null ? [] : [`${pushed.chart} is ${pushed.digest}`]),
  ];
}

/** Signs what a registry has of the release, where it has it. */
async function signPushed(pushed: {
  images: Images | null;
  chart: PushedChart | null;
  key: KeyObject;
}): Promise<void> {
  const { images, chart, key } = pushed;
  if (images !== null) {
    const repository = openRepository(images.repository);
    for (const digest of [images.digest, images.mcpDigest])
      await signDigest(repository, digest, key);
  }
  if (chart !== null) await signDigest(openRepository(chart.repository), chart.digest, key);
}

/** Packages have the version of the repository, so images and chart have it, too. */
async function checkVersion(root: string, version: string): Promise<void> {
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  for (const [file, stated] of [
    ["package.json", own.version],
    ["clients/python/pyproject.toml", (await pythonProject(root)).version],
  ])
    if (stated !== version)
      throw new Error(`${file} has version ${stated}, not ${version}: change it there first`);
}

function valuesOf({ repository, digest, mcpDigest }: Images): string {
  const withRuntimes = { image: { digest: mcpDigest } };
  const values = {
    image: { repository, digest },
    mcpBroker: withRuntimes,
    toolbox: withRuntimes,
  };
  return stringify(values, { aliasDuplicateObjects: false });
}

function subjectsOf(folder: string, files: readonly string[]) {
  return Promise.all(
    files.map(async (name) => ({ name, digest: { sha256: await sha256Of(join(folder, name)) } })),
  );
}

function pushedSubjects(images: Images | null, pushed: PushedChart | null) {
  const found = [
    ...(images === null
      ? []
      : [
          { name: images.repository, digest: images.digest },
          { name: images.repository, digest: images.mcpDigest },
        ]),
    ...(pushed === null ? [] : [{ name: pushed.chart, digest: pushed.digest }]),
  ];
  return found.map(({ name, digest }) => ({
    name,
    digest: { sha256: digest.slice("sha256:".length) },
  }));
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
