import { access, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../run-program.ts";

const KUBERNETES = "1.34.4";
const sources = fileURLToPath(new URL("go/", import.meta.url));

interface Program {
  readonly name: string;
  /** A module of the Go module proxy and its version, or a file beside this one. */
  readonly from: { module: string; version: string; package: string } | { file: string };
  /** Modules that the file imports, at exactly these versions. */
  readonly requires?: readonly string[];
  /** A folder of the module with its manifests, which is copied to `manifests/NAME`. */
  readonly manifests?: string;
  /** A cluster without it runs; checks that need it are left out with the reason. */
  readonly optional?: true;
}

/** The operator and the adapter that serves its metrics to the API server are two programs of one module. */
const keda = { module: "github.com/kedacore/keda/v2", version: "v2.21.0" };

const kubernetes = (name: string): Program => ({
  name,
  from: { module: "k8s.io/kubernetes", version: `v${KUBERNETES}`, package: `cmd/${name}` },
});

/** In the order of their need; the first build of all of them takes long, so a build that is interrupted continues where it was. */
const programs: readonly Program[] = [
  { name: "pause", from: { file: "pause.go" } },
  ...["kube-scheduler", "kube-proxy", "kube-controller-manager", "kubelet", "kube-apiserver"].map(
    kubernetes,
  ),
  {
    name: "coredns",
    from: { file: "coredns.go" },
    requires: ["github.com/coredns/coredns@v1.12.4"],
  },
  {
    name: "dashboards",
    from: { file: "dashboards.go" },
    requires: ["github.com/grafana/grafana-foundation-sdk/go@v0.0.22"],
    optional: true,
  },
  {
    name: "kube-router",
    from: {
      module: "github.com/cloudnativelabs/kube-router/v2",
      version: "v2.1.0",
      package: "cmd/kube-router",
    },
    optional: true,
  },
  {
    name: "metrics-server",
    from: {
      module: "sigs.k8s.io/metrics-server",
      version: "v0.9.0",
      package: "cmd/metrics-server",
    },
    manifests: "manifests",
    optional: true,
  },
  { name: "keda", from: { ...keda, package: "cmd/operator" }, manifests: "config", optional: true },
  { name: "keda-adapter", from: { ...keda, package: "cmd/adapter" }, optional: true },
];

/** Builds what `bin` in the cache folder lacks, or has from another file, from the Go module proxy, at low priority. The reason why an optional one could not be built stays beside it. */
export async function buildPrograms(cache: string, log: (line: string) => void): Promise<void> {
  await mkdir(join(cache, "bin"), { recursive: true });
  for (const program of programs) {
    const target = join(cache, "bin", program.name);
    if ((await isThere(target)) && !(await isChanged(program, cache))) continue;
    const began = performance.now();
    try {
      await build(program, { cache, target });
      await rm(join(cache, "images"), { recursive: true, force: true }); // they have the program of before
      log(`${program.name} is built, in ${Math.round((performance.now() - began) / 1_000)} s`);
    } catch (error) {
      if (program.optional !== true) throw error;
      await writeFile(reasonFile(cache, program.name), String(error));
      log(`${program.name} cannot be built: ${String(error)}`);
    }
  }
}

/** The programs that the cache folder lacks, each with the reason. */
export async function missingPrograms(cache: string): Promise<ReadonlyMap<string, string>> {
  const missing = new Map<string, string>();
  for (const { name } of programs) {
    if (await isThere(join(cache, "bin", name))) continue;
    const reason = await readFile(reasonFile(cache, name), "utf8").catch(() => "it was not built");
    missing.set(name, `${name} is not here: ${reason}`);
  }
  return missing;
}

async function isChanged({ name, from }: Program, cache: string): Promise<boolean> {
  if (!("file" in from)) return false;
  const built = await readFile(join(cache, "go", name, "main.go"), "utf8").catch(() => null);
  return built !== (await readFile(join(sources, from.file), "utf8"));
}

const reasonFile = (cache: string, name: string): string => join(cache, "go", `${name}.reason`);

async function build(
  { name, from, requires = [], manifests }: Program,
  { cache, target }: { cache: string; target: string },
): Promise<void> {
  // Programs of one module share the folder, and with it the resolved versions.
  const key = "file" in from ? name : `${from.module.replaceAll("/", "+")}@${from.version}`;
  const cwd = join(cache, "go", key);
  await mkdir(cwd, { recursive: true });
  const env = { CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod -buildvcs=false" };
  const go = (args: readonly string[], timeoutMs = 600_000): Promise<string> =>
    runProgram(["nice", "-n", "19", "ionice", "-c3", "go", ...args], { cwd, env, timeoutMs });
  if ("file" in from) {
    await cp(join(sources, from.file), join(cwd, "main.go"));
    await writeFile(join(cwd, "go.mod"), "module cluster\n\ngo 1.24.0\n");
    for (const module of requires) await go(["get", module]);
  } else if (!(await isThere(join(cwd, "go.sum")))) await requireModule(cwd, from, go);
  const flags = `-s -w ${"module" in from ? versionFlags(from.module) : ""}`;
  const what = "file" in from ? "." : `${from.module}/${from.package}`;
  const parallel = String(availableParallelism());
  const args = ["build", "-trimpath", "-p", parallel, "-ldflags", flags, "-o", target, what];
  await go(args, 3_600_000);
  if (manifests === undefined || "file" in from) return;
  const copy = join(cache, "manifests", name);
  await cp(join(await folderOf(from, go), manifests), copy, { recursive: true });
  await runProgram(["chmod", "-R", "u+w", copy]); // modules are read-only, and the cache folder can be deleted
}

/**
 * A module that requires the named one with the versions that its own go.mod has. The repository of Kubernetes names the modules that it
 * publishes from its `staging` folder as v0.0.0 and replaces them by that folder; published, each has the version 0.34.4 for 1.34.4.
 */
async function requireModule(
  cwd: string,
  { module, version }: { module: string; version: string },
  go: Go,
): Promise<void> {
  await writeFile(join(cwd, "go.mod"), "module cluster\n\ngo 1.24.0\n");
  const folder = await folderOf({ module, version }, go);
  const published = `v0.${KUBERNETES.slice(2)}`;
  const own = await readFile(join(folder, "go.mod"), "utf8");
  const text = own
    .replace(/^module .*$/m, "module cluster")
    .replaceAll(/ => \.\/staging\/src\/(k8s\.io\/[a-z-]+)$/gm, ` => $1 ${published}`)
    .replaceAll(/^(\s+k8s\.io\/[a-z-]+) v0\.0\.0(?= |$)/gm, `$1 ${published}`);
  await writeFile(join(cwd, "go.mod"), `${text}\nrequire ${module} ${version}\n`);
  await cp(join(folder, "go.sum"), join(cwd, "go.sum")); // the last one: an interrupted call is repeated
}

type Go = (args: readonly string[]) => Promise<string>;

/** Returns the folder in which Go has the files of a module. */
async function folderOf(
  { module, version }: { module: string; version: string },
  go: Go,
): Promise<string> {
  const reported: unknown = JSON.parse(
    await go(["mod", "download", "-json", `${module}@${version}`]),
  );
  return (reported as { Dir: string }).Dir; // the documented output
}

/** A kubelet without a version is refused by the API server. */
function versionFlags(module: string): string {
  if (module !== "k8s.io/kubernetes") return "";
  const [major, minor] = KUBERNETES.split(".");
  const component = { gitVersion: `v${KUBERNETES}`, gitMajor: major, gitMinor: minor };
  return ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]
    .flatMap((path) => Object.entries(component).map(([k, v]) => `-X ${path}.${k}=${v}`))
    .join(" ");
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
