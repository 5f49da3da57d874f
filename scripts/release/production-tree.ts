import { readFile, readdir, stat } from "node:fs/promises";
import { join, matchesGlob } from "node:path";

interface Size {
  readonly files: number;
  readonly bytes: number;
}

/** The size of the image's parts, without Node.js and the system below. */
export interface ProductionTree {
  /** The packages of npm, and their number. */
  readonly dependencies: Size & { readonly packages: number };
  /** Our own code and examples. */
  readonly own: Size;
}

const OWN_FOLDERS = ["libs", "services", "apps", "examples", "deploy"];

/** Measures files as they are installed here. Rejects without package-lock.json, .dockerignore or node_modules. */
export async function productionTree(root: string): Promise<ProductionTree> {
  const { packages }: Lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const needed = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.includes("node_modules/") && dev !== true && link !== true,
  );
  const sizes = await Promise.all(
    needed.map(([path]) => sizeOf(join(root, path), (name) => name === "node_modules")),
  );
  // Packages for other systems are not installed.
  const installed = sizes.filter(({ files }) => files > 0);
  if (installed.length === 0) throw new Error("nothing is installed: run npm ci");
  const ignored = (await readFile(join(root, ".dockerignore"), "utf8"))
    .split("\n")
    .filter((line) => line !== "");
  const isIgnored = (_: string, path: string): boolean =>
    ignored.some((pattern) => matchesGlob(path, pattern));
  const own = await Promise.all(
    OWN_FOLDERS.map((folder) => sizeOf(join(root, folder), isIgnored, folder)),
  );
  return { dependencies: { packages: installed.length, ...sum(installed) }, own: sum(own) };
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>;
}

// oxlint-disable-next-line max-params -- a folder, without what, and its name where it is looked for
async function sizeOf(
  folder: string,
  without: (name: string, path: string) => boolean,
  shown = "",
): Promise<Size> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  const sizes = entries
    .filter(({ name }) => !without(name, join(shown, name)))
    .map(async (entry): Promise<Size> => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return sizeOf(path, without, join(shown, entry.name));
      return { files: 1, bytes: entry.isFile() ? (await stat(path)).size : 0 };
    });
  return sum(await Promise.all(sizes));
}

function sum(sizes: readonly Size[]): Size {
  return {
    files: sizes.reduce((all, { files }) => all + files, 0),
    bytes: sizes.reduce((all, { bytes }) => all + bytes, 0),
  };
}
