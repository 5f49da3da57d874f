import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { billOfMaterials } from "./release/bill-of-materials.ts";
import { npmPackages } from "./release/npm-packages.ts";
import { pushImages } from "./release/push-images.ts";

/**
 * Builds and pushes the images, and writes what an installation needs of them into a folder: `values.yaml` of the chart with their digests,
 * `sbom.cdx.json` (CycloneDX), and `images.json`, which lists what they were built from. With `--sbom` only the bill of materials, on standard output;
 * with `--packages` only the packages for `npm publish`, as tarballs with their checksums. See `docs/release.md`.
 *
 *   node scripts/release.ts REPOSITORY VERSION [--platforms linux/amd64,linux/arm64] [--dir FOLDER]
 *   node scripts/release.ts --sbom
 *   node scripts/release.ts --packages [--dir FOLDER]
 */
const USAGE =
  "usage: node scripts/release.ts REPOSITORY VERSION [--platforms linux/amd64,linux/arm64] [--dir FOLDER] | --sbom | --packages";
const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sbom: { type: "boolean", default: false },
    packages: { type: "boolean", default: false },
    platforms: { type: "string", default: "linux/amd64,linux/arm64" },
    dir: { type: "string", default: "release" },
  },
});
const [repository, version] = positionals;

if (values.sbom) console.log(JSON.stringify(await billOfMaterials(root), null, 2));
else if (values.packages) for (const file of await npmPackages(root, values.dir)) console.log(file);
else if (repository === undefined || version === undefined || positionals.length > 2) {
  console.error(USAGE);
  process.exitCode = 2;
} else if (!/^[a-z0-9][a-z0-9.:/_-]*$/.test(repository) || !/^[\w][\w.-]{0,120}$/.test(version)) {
  console.error(
    `${repository} ${version}: the first is a repository without a tag, such as ghcr.io/you/switchyard, the second a tag, such as 1.2.0\n${USAGE}`,
  );
  process.exitCode = 2;
} else
  try {
    await release(repository, version);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }

async function release(name: string, tag: string): Promise<void> {
  const bill = await billOfMaterials(root);
  const images = await pushImages({
    root,
    repository: name,
    version: tag,
    platforms: values.platforms,
  });
  await mkdir(values.dir, { recursive: true });
  const withRuntimes = { image: { digest: images.mcpDigest } };
  const chart = {
    image: { repository: name, digest: images.digest },
    mcpBroker: withRuntimes,
    toolbox: withRuntimes,
  };
  const files = {
    "values.yaml": stringify(chart, { aliasDuplicateObjects: false }),
    "sbom.cdx.json": `${JSON.stringify(bill, null, 2)}\n`,
    "images.json": `${JSON.stringify({ version: tag, ...images }, null, 2)}\n`,
  };
  for (const [file, text] of Object.entries(files)) await writeFile(join(values.dir, file), text);
  console.log(`${name}:${tag} is ${images.digest}; see ${join(values.dir, "values.yaml")}`);
}
