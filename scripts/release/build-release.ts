import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { billOfMaterials } from "./bill-of-materials.ts";
import { packChart, pushChart } from "./chart-package.ts";
import { sha256Of, writeChecksums } from "./checksums.ts";
import { minisign, minisignPublicKey, readSigningKey } from "./minisign.ts";
import { npmPackages } from "./npm-packages.ts";
import { provenanceOf, signedEnvelope } from "./provenance.ts";
import { pushImages, type Images } from "./push-images.ts";

interface Wanted {
  readonly root: string;
  /** The address of the images, without a tag; null: nothing is pushed, and no images are built. */
  readonly repository: string | null;
  readonly version: string;
  readonly platforms: string;
  /** A private key in PEM; undefined: nothing is signed. */
  readonly keyFile: string | undefined;
  readonly folder: string;
}

/** Builds a release, and returns lines for a person. Rejects with what the tools say; what was pushed before stays pushed. */
export async function buildRelease(wanted: Wanted): Promise<string[]> {
  const { root, repository, version, platforms, keyFile, folder } = wanted;
  const startedAt = new Date();
  // Mistakes that a person can correct are found before anything is pushed.
  const key = keyFile === undefined ? null : await readSigningKey(keyFile);
  await checkVersion(root, version);
  const bill = await billOfMaterials(root);
  const images =
    repository === null ? null : await pushImages({ root, repository, version, platforms });
  const files = await npmPackages(root, folder);
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(join(folder, name), text);
    files.push(name);
  };
  await write("sbom.cdx.json", json(bill));
  const chart = await packChart(root, folder, version);
  files.push(chart);
  const pushed = repository === null ? null : await pushChart(join(folder, chart), repository);
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

/** Packages have the version of the repository, so images and chart have it, too. */
async function checkVersion(root: string, version: string): Promise<void> {
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  if (own.version === version) return;
  throw new Error(`package.json has version ${own.version}, not ${version}: change it there first`);
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

function pushedSubjects(
  images: Images | null,
  pushed: { readonly chart: string; readonly digest: string } | null,
) {
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
