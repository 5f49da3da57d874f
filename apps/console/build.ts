import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Below it each build has the digest of its sources as its name. */
const BUILDS = fileURLToPath(new URL("dist/", import.meta.url));
const HERE = fileURLToPath(new URL("./", import.meta.url));
const LIBS = ["client", "contracts"].map((name) =>
  fileURLToPath(new URL(`../../libs/${name}/src/`, import.meta.url)),
);
/** Inputs of a build, besides the packages, whose versions package.json has. */
const SOURCES = [
  ...["index.html", "vite.config.ts", "package.json", "src", "public"].map((name) =>
    join(HERE, name),
  ),
  ...LIBS,
];

/**
 * Returns the folder of a build of the current sources. Builds, in about a second, unless the build exists. Any number of processes
 * may call it at once. A package of npm has a build and no sources. Rejects with Vite's messages about the sources.
 */
export async function builtConsole(onBuild: () => void = () => {}): Promise<string> {
  if (existsSync(join(BUILDS, "index.html"))) return BUILDS;
  const directory = join(BUILDS, await digestOfSources());
  if (existsSync(join(directory, "index.html"))) return directory;
  onBuild();
  const { build } = await import("vite");
  const scratch = await mkdtemp(join(HERE, ".build-"));
  try {
    await build({
      root: HERE,
      configFile: join(HERE, "vite.config.ts"),
      logLevel: "error",
      build: { outDir: scratch, emptyOutDir: true },
    });
    await removeBuilds();
    // Another process may have been first with the same sources.
    await rename(scratch, directory).catch((error: unknown) => {
      if (!existsSync(join(directory, "index.html"))) throw error;
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return directory;
}

/** Removes builds of other sources: a gateway reads its build only when it starts. */
async function removeBuilds(): Promise<void> {
  await mkdir(BUILDS, { recursive: true });
  for (const name of await readdir(BUILDS))
    await rm(join(BUILDS, name), { recursive: true, force: true });
}

async function digestOfSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of (await Promise.all(SOURCES.map(filesOf))).flat())
    hash.update(`${file.slice(HERE.length)}\0`).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

/** In a fixed order. */
async function filesOf(path: string): Promise<string[]> {
  if (!existsSync(path)) return [];
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => null);
  if (entries === null) return [path];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
