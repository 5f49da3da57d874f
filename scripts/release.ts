import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { billOfMaterials } from "./release/bill-of-materials.ts";
import { buildRelease } from "./release/build-release.ts";
import { writeChecksums } from "./release/checksums.ts";
import { npmPackages } from "./release/npm-packages.ts";

/**
 * Builds a release into a folder: images and chart, which it pushes, the packages of npm and PyPI, the bill of materials, provenance, checksums and, with a
 * key, signatures. With `--local` it pushes nothing, and builds no images; with `--sbom` only the bill of materials, on standard output; with `--packages` only
 * the packages for `npm publish`, with their checksums. See `docs/release.md`.
 *
 *   node scripts/release.ts REPOSITORY VERSION [--key FILE] [--platforms linux/amd64,linux/arm64] [--base IMAGE@DIGEST] [--dir FOLDER]
 *   node scripts/release.ts --local VERSION [--key FILE] [--dir FOLDER]
 *   node scripts/release.ts --sbom
 *   node scripts/release.ts --packages [--dir FOLDER]
 */
const USAGE =
  "usage: node scripts/release.ts REPOSITORY VERSION [--key FILE] [--platforms linux/amd64,linux/arm64] [--base IMAGE@DIGEST] [--dir FOLDER] | --local VERSION [--key FILE] [--dir FOLDER] | --sbom | --packages [--dir FOLDER]";
const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sbom: { type: "boolean", default: false },
    packages: { type: "boolean", default: false },
    local: { type: "boolean", default: false },
    key: { type: "string" },
    platforms: { type: "string", default: "linux/amd64,linux/arm64" },
    base: { type: "string" },
    dir: { type: "string", default: "release" },
  },
});
const { dir, platforms, base, key: keyFile } = values;

try {
  if (values.sbom) console.log(JSON.stringify(await billOfMaterials(root), null, 2));
  else if (values.packages) {
    const files = await npmPackages(root, dir);
    for (const file of [...files, await writeChecksums(dir, files)]) console.log(join(dir, file));
  } else await release();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function release(): Promise<void> {
  const [repository, version, ...more]: readonly (string | null)[] = values.local
    ? [null, ...positionals]
    : positionals;
  if (repository === undefined || typeof version !== "string" || more.length > 0)
    return refuse(USAGE);
  if (repository !== null && !/^[a-z0-9][a-z0-9.:/_-]*$/.test(repository))
    return refuse(
      `${repository}: it is a repository without a tag, such as ghcr.io/you/switchyard\n${USAGE}`,
    );
  if (!/^\d+\.\d+\.\d+(?:-[\w.-]{1,100})?$/.test(version))
    return refuse(`${version}: it is a version, such as 1.2.0\n${USAGE}`);
  const lines = await buildRelease({
    root,
    repository,
    version,
    platforms,
    base,
    keyFile,
    folder: dir,
  });
  for (const line of lines) console.log(line);
}

function refuse(message: string): void {
  console.error(message);
  process.exitCode = 2;
}
