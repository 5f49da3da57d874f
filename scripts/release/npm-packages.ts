import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { clientPackage } from "./client-package.ts";
import { yardPackage } from "./yard-package.ts";

const PACKAGES = { client: clientPackage, yard: yardPackage } as const;

/**
 * Writes the tarballs of the packages into a folder, and returns their names. Rejects with what compiler, bundler or npm say.
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
  return files;
}
