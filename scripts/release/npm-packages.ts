import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { clientPackage } from "./client-package.ts";
import { yardPackage } from "./yard-package.ts";

const PACKAGES = { client: clientPackage, yard: yardPackage } as const;

/**
 * Writes the tarballs of the packages and `SHA256SUMS` into a folder, and returns their paths. Rejects with what compiler, bundler or npm say.
 */
export async function npmPackages(root: string, folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  for (const [name, write] of Object.entries(PACKAGES)) {
    const scratch = await mkdtemp(join(folder, `.${name}-`));
    try {
      await write(root, scratch);
      const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", resolve(folder)];
      const { stdout } = await promisify(execFile)("npm", args, { cwd: scratch });
      files.push(stdout.trim());
    } finally {
      await rm(scratch, { recursive: true });
    }
  }
  const sums = files.map(async (file) => {
    const hash = createHash("sha256").update(await readFile(join(folder, file)));
    return `${hash.digest("hex")}  ${file}\n`;
  });
  await writeFile(join(folder, "SHA256SUMS"), (await Promise.all(sums)).join(""));
  return [...files, "SHA256SUMS"].map((file) => join(folder, file));
}
