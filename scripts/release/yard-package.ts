import { existsSync, globSync, readFileSync } from "node:fs";
import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, posix, relative } from "node:path";
import { builtConsole } from "@switchyard/console/build";
import { rolldown, type Plugin } from "rolldown";

const NAME = "@switchyard/yard";
/** Programs. The files that another one starts are found in its source. */
const PROGRAMS = ["apps/cli/src/main.ts", "apps/switchyard/src/main.ts", "services/*/src/main.ts"];
/** Files that the programs read. */
const FILES = [
  "apps/cli/src/help",
  "apps/cli/templates",
  "libs/skills/src/scan/*.yaml",
  "examples",
  "LICENSE",
];
/** MCP servers of the demo: `examples/mcp-servers.json` names them in the `node_modules` of a clone. */
const DEMO_SERVERS = ["filesystem", "everything"] as const;
/** Builds the console, which is in the package as it was built. */
const BUILDER = "vite";
/** Node.js for those who have an older one. The packages for macOS lag behind. */
const NODE_PLATFORMS = ["linux-x64", "linux-arm64"];

/**
 * Writes `@switchyard/yard` into a folder as `npm publish` takes it: the command line and all services as JavaScript at the places that they have in the
 * repository, the built console, the examples, and as dependencies what that code imports, in the versions that are installed here. Rejects
 * with what the bundler or Vite says.
 */
export async function yardPackage(root: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const imported = await bundle(root, folder);
  for (const path of globSync(FILES, { cwd: root }))
    await cp(join(root, path), join(folder, path), { recursive: true });
  for (const path of globSync(join(folder, "apps/cli/src/help/*.txt")))
    await writeFile(path, inPackage(await readFile(path, "utf8")));
  await cp(await builtConsole(), join(folder, "apps/console/dist"), { recursive: true });
  await copyDemoServers(root, folder);
  const parts = join(root, "scripts/release/yard-package");
  await cp(join(parts, "yard.js"), join(folder, "bin/yard.js"));
  await chmod(join(folder, "bin/yard.js"), 0o755);
  await cp(join(parts, "README.md"), join(folder, "README.md"));
  const description = await describe(root, imported);
  await writeFile(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
}

/** Returns the packages that the code imports, with their versions. */
async function bundle(root: string, folder: string): Promise<Map<string, string>> {
  const imported = new Map<string, string>();
  const entries = globSync(PROGRAMS, { cwd: root });
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((path) => [compiled(path).slice(0, -3), path])),
    platform: "node",
    logLevel: "warn",
    external: (id, importer) => {
      if (isBuiltin(id)) return true;
      const name = /^(?:@[\w.-]+\/)?\w[\w.-]*/.exec(id)?.[0];
      if (name === undefined || name.startsWith("@switchyard/")) return false;
      if (name !== BUILDER) imported.set(name, versionOf(name, importer ?? root));
      return true;
    },
    plugins: [ownPlaces(root), ownCommand(root)],
  });
  await build.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
  });
  await build.close();
  return imported;
}

const URL_OF_FILE = /new URL\("((?:\.{1,2}\/)?[\w/-]+)\.ts", import\.meta\.url\)/g;
const PLACE = /__placeOf\("([^"]+)"\)/g;

/**
 * `import.meta.url` is the place of the source file, also where its code is in a chunk with that of others; and the files that such code starts as workers or
 * processes are compiled, too.
 */
function ownPlaces(root: string): Plugin {
  return {
    name: "own-places",
    transform: {
      filter: { code: "import.meta.url", id: /\.ts$/ },
      handler(code, id) {
        const path = relative(root, id);
        for (const [, name] of code.matchAll(URL_OF_FILE)) {
          const started = posix.join(posix.dirname(path), `${name}.ts`);
          this.emitFile({ type: "chunk", id: join(root, started), fileName: compiled(started) });
        }
        return code
          .replaceAll(URL_OF_FILE, 'new URL("$1.js", import.meta.url)')
          .replaceAll("import.meta.url", `__placeOf(${JSON.stringify(compiled(path))})`);
      },
    },
    renderChunk(code, chunk) {
      if (!code.includes("__placeOf(")) return null;
      return code.replaceAll(PLACE, (_, path: string) => {
        const there = posix.relative(posix.dirname(chunk.fileName), path);
        return `new URL(${JSON.stringify(there)}, import.meta.url).href`;
      });
    },
  };
}

/** Messages and examples name the command as it is called in a clone. */
function ownCommand(root: string): Plugin {
  const cli = join(root, "apps/cli/src/");
  return {
    name: "own-command",
    transform: {
      filter: { code: "./yard " },
      handler: (code, id) => (id.startsWith(cli) ? inPackage(code) : null),
    },
  };
}

function inPackage(text: string): string {
  return text.replaceAll("./yard ", `npx ${NAME} `);
}

function compiled(path: string): string {
  return path.replace(/\.ts$/, ".js");
}

/** npm puts the servers of the demo where it likes; a file of the package finds them. */
async function copyDemoServers(root: string, folder: string): Promise<void> {
  const file = join(folder, "examples/mcp-servers.json");
  let text = await readFile(file, "utf8");
  for (const name of DEMO_SERVERS) {
    const place = `@modelcontextprotocol/server-${name}/dist/index.js`;
    const ours = `servers/${name}.js`;
    if (!text.includes(`/node_modules/${place}`))
      throw new Error(`${relative(root, file)} no longer starts ${place}`);
    text = text.replaceAll(`/node_modules/${place}`, `/${ours}`);
    await mkdir(dirname(join(folder, ours)), { recursive: true });
    await writeFile(join(folder, ours), `import "${place}";\n`);
  }
  await writeFile(file, text);
}

interface Described {
  readonly version: string;
  readonly license: string;
  readonly devDependencies: { readonly node: string };
}

/** The version that an importing file gets. */
function versionOf(name: string, importer: string): string {
  for (let at = dirname(importer); ; at = dirname(at)) {
    const file = join(at, "node_modules", name, "package.json");
    if (existsSync(file)) return (JSON.parse(readFileSync(file, "utf8")) as Described).version;
    if (at === dirname(at)) throw new Error(`${name}, which ${importer} imports, is not installed`);
  }
}

async function describe(root: string, imported: ReadonlyMap<string, string>): Promise<object> {
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Described;
  const servers = DEMO_SERVERS.map((name): [string, string] => {
    const full = `@modelcontextprotocol/server-${name}`;
    return [full, versionOf(full, join(root, "package.json"))];
  });
  const dependencies = [...imported, ...servers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    name: NAME,
    version: own.version,
    description: "AI agents as event-driven microservices: the command line and all services",
    license: own.license,
    type: "module",
    bin: { yard: "bin/yard.js" },
    engines: { node: ">=20" },
    dependencies: Object.fromEntries(dependencies),
    optionalDependencies: Object.fromEntries(
      NODE_PLATFORMS.map((name) => [`node-${name}`, own.devDependencies.node]),
    ),
  };
}
