// Debian and Ubuntu: a program out of the distribution's own signed packages, unpacked in the user's cache. Nothing
// is installed and root is not needed: apt works on private lists and caches with the system's own sources, keys and
// proxies, and `dpkg-deb -x` unpacks. `{cache}/bin/{program}` starts the result, so that the next start just finds it.

import { randomBytes } from "node:crypto";
import { access, chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { debianMirror } from "./debian-mirror.ts";
import { cacheDir, examineBinary, type FoundBinary } from "./installed-binary.ts";
import type { CommandResult, RunCommand } from "./run-command.ts";
import { isRecentEnough, programOf, type ProgramKind, type ServerKind } from "./server-kinds.ts";
import { versionIn } from "./version.ts";

export interface PackageOptions {
  kind: ProgramKind & Partial<Pick<ServerKind, "urlVariable">>;
  env: NodeJS.ProcessEnv;
  log: (line: string) => void;
  run: RunCommand;
  /** The directory of `os-release` and `apt/`. Default `/etc`. */
  etcDir?: string;
  platform?: NodeJS.Platform;
}

const UPDATE_TIMEOUT_MS = 120_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;
const LOCAL_TIMEOUT_MS = 30_000;
const TOOL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
const DEBIAN_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** Fetches and unpacks the program of `kind`, or returns the reason why that is impossible. Takes some seconds and a network. */
export async function unpackDebianPackage(
  options: PackageOptions,
): Promise<FoundBinary | { reason: string }> {
  const { kind, env, etcDir = "/etc", platform = process.platform } = options;
  const packageName = kind.aptPackages.join(", ");
  if (platform === "darwin")
    return {
      reason:
        kind.brewFormula === null
          ? `there is no ${kind.name} for macOS`
          : `on macOS packages are not fetched; run: brew install ${kind.brewFormula}`,
    };
  const os = await readOsRelease(etcDir);
  if (os === null || !(await exists(join(etcDir, "apt"))))
    return { reason: "this system has no apt" };

  const source = await aptSource(kind, os, etcDir);
  if ("reason" in source) return source;
  options.log(`${kind.name}: fetching ${packageName} (${source.label}) into ${cacheDir(env)}`);
  options.log(`${kind.name}: ${howToAvoid(kind)}`);
  const work = join(
    cacheDir(env),
    "packages",
    `.work-${process.pid}-${randomBytes(4).toString("hex")}`,
  );
  try {
    return await fetchAndUnpack(options, source, work);
  } catch (error) {
    if (error instanceof PackageStepError) return { reason: error.message };
    throw error;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function howToAvoid(kind: PackageOptions["kind"]): string {
  const programs = kind.programs.map(({ program, minimum }) => `${program} ${minimum}`);
  const address =
    kind.urlVariable === undefined ? "" : `, or set ${kind.urlVariable} to the address of one`;
  return `to do without, install ${programs.join(" or ")} or newer, or name its directory in YARD_BIN_DIR${address}`;
}

/** An expected failure of one command on the way; becomes the step's reason. */
class PackageStepError extends Error {}

interface AptSource {
  label: string;
  /** The text of a sources list that replaces the system's own; `null` keeps the system's. */
  list: string | null;
}

async function fetchAndUnpack(
  options: PackageOptions,
  source: AptSource,
  work: string,
): Promise<FoundBinary | { reason: string }> {
  const { kind, env, run } = options;
  const packageName = kind.aptPackages[0] ?? kind.name;
  await mkdir(join(work, "cache", "archives", "partial"), { recursive: true });
  await mkdir(join(work, "lists", "partial"), { recursive: true });
  await writeFile(join(work, "apt.conf"), aptConfig(work, source.list !== null));
  if (source.list !== null) await writeFile(join(work, "sources.list"), source.list);
  const apt = (tool: string, args: readonly string[], timeoutMs: number): Promise<CommandResult> =>
    run(tool, ["-c", join(work, "apt.conf"), ...args], {
      timeoutMs,
      env: toolEnvironment(env),
      cwd: join(work, "cache", "archives"),
    });

  options.log(`${kind.name}: reading the list of packages, which takes some seconds`);
  // One unreachable third-party source makes `update` fail although all that is needed arrived: the next line judges.
  const update = await apt("apt-get", ["update", "--quiet"], UPDATE_TIMEOUT_MS);
  const policy = await apt("apt-cache", ["policy", packageName], LOCAL_TIMEOUT_MS);
  const candidate = /^\s*Candidate:\s*(\S+)/m.exec(policy.stdout)?.[1] ?? "(none)";
  const version = versionIn(candidate);
  if (version === null)
    return {
      reason: `${source.label} offers no ${packageName}${update.code === 0 ? "" : ` (apt-get update: ${lastLine(update)})`}`,
    };
  const { program, minimum } = programOf(kind, packageName);
  if (!isRecentEnough(version, minimum))
    return {
      reason: `${packageName} of ${source.label} is ${version}, ${minimum} or newer is needed`,
    };

  const fetch =
    kind.aptFromSid || kind.aptAlone === true
      ? ["download", "--quiet", packageName]
      : [
          "install",
          "--quiet",
          "--yes",
          "--download-only",
          "--reinstall",
          "--no-install-recommends",
          ...kind.aptPackages,
        ];
  const planned = await apt("apt-get", [...fetch, "--print-uris"], LOCAL_TIMEOUT_MS);
  const bytes = bytesOf(planned.stdout);
  if (bytes > 0)
    options.log(
      `${kind.name}: downloading ${candidate}, ${Math.max(0.1, bytes / 1e6).toFixed(1)} MB`,
    );
  ended("apt-get", await apt("apt-get", fetch, DOWNLOAD_TIMEOUT_MS));
  const root = join(work, "root");
  await mkdir(root);
  const archives = await readdir(join(work, "cache", "archives"));
  for (const archive of archives.filter((file) => file.endsWith(".deb"))) {
    const args = ["-x", join(work, "cache", "archives", archive), root];
    ended(
      "dpkg-deb",
      await run("dpkg-deb", args, { timeoutMs: LOCAL_TIMEOUT_MS, env: toolEnvironment(env) }),
    );
  }
  return keep({ options, root, program, packageVersion: candidate, label: source.label });
}

/** The sum of the sizes that `apt-get --print-uris` states, one file a line: address, name, bytes, digest. */
function bytesOf(uris: string): number {
  return [...uris.matchAll(/^'\S+' \S+ (\d+)\b/gm)].reduce(
    (sum, [, size]) => sum + Number(size),
    0,
  );
}

/** Runs the unpacked program where it is, then moves it into the cache: the cache never holds one that does not run. */
async function keep(unpacked: {
  options: PackageOptions;
  root: string;
  program: string;
  packageVersion: string;
  label: string;
}): Promise<FoundBinary | { reason: string }> {
  const { options, root, program, packageVersion, label } = unpacked;
  const { kind, env, run } = options;
  const inside = await firstExisting(root, [`usr/sbin/${program}`, `usr/bin/${program}`]);
  if (inside === null) return { reason: `the package of ${label} holds no ${program}` };
  const libraries = await libraryDirs(root);
  const trial = join(root, `start-${program}`);
  await writeStarter(trial, { kind, root, inside, libraries });
  const verdict = await examineBinary(kind, trial, run);
  if ("problem" in verdict)
    return {
      reason: `${program} ${packageVersion} of ${label} does not run here: ${verdict.problem}`,
    };

  const home = join(
    cacheDir(env),
    "packages",
    `${program}-${packageVersion.replaceAll(/[^\w.+~-]/g, "_")}`,
  );
  // Another process may have put the same package there meanwhile, which is just as good.
  await rename(root, home).catch(async (error: unknown) => {
    if (!(await exists(join(home, inside)))) throw error;
  });
  const binary = join(cacheDir(env), "bin", program);
  await mkdir(join(cacheDir(env), "bin"), { recursive: true });
  await writeStarter(`${binary}.${process.pid}`, { kind, root: home, inside, libraries });
  await rename(`${binary}.${process.pid}`, binary);
  return { binary, version: verdict.version, source: label };
}

/** A script that becomes the program (`exec` keeps the pid), with the libraries that were unpacked beside it. */
async function writeStarter(
  file: string,
  target: { kind: ProgramKind; root: string; inside: string; libraries: readonly string[] },
): Promise<void> {
  const { kind, root, inside, libraries } = target;
  const path = libraries.map((dir) => join(root, dir)).join(":");
  const setting =
    path === ""
      ? ""
      : `${kind.beforeLibraryPath ?? ""}LD_LIBRARY_PATH=${shellQuote(path)}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\nexport LD_LIBRARY_PATH\n`;
  await writeFile(file, `#!/bin/sh\n${setting}exec ${shellQuote(join(root, inside))} "$@"\n`);
  await chmod(file, 0o755);
}

function aptConfig(work: string, ownSources: boolean): string {
  const sources = ownSources
    ? `Dir::Etc::SourceList "${work}/sources.list";\nDir::Etc::SourceParts "-";\n`
    : "";
  // The hooks are the system's housekeeping after a change to the system, and this changes nothing of it.
  return `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::State::Lists "${work}/lists";
Dir::State::extended_states "${work}/extended_states";
Dir::Cache "${work}/cache";
Dir::Log "${work}";
${sources}Debug::NoLocking "1";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "15";
Acquire::https::Timeout "15";
`;
}

async function aptSource(
  kind: ProgramKind,
  os: OsRelease,
  etcDir: string,
): Promise<AptSource | { reason: string }> {
  if (os.id !== "debian" || !kind.aptFromSid) return { label: `${os.name} packages`, list: null };
  const mirror = debianMirror(await readSources(etcDir), os.codename);
  if (mirror === null)
    return {
      reason: `no Debian mirror in ${join(etcDir, "apt")}, so sid's ${kind.aptPackages.join(", ")} is out of reach`,
    };
  const keyring = mirror.signedBy ?? ((await exists(DEBIAN_KEYRING)) ? DEBIAN_KEYRING : null);
  const option = keyring === null ? "" : `[signed-by=${keyring}] `;
  return { label: `Debian sid, ${mirror.url}`, list: `deb ${option}${mirror.url} sid main\n` };
}

async function readSources(etcDir: string): Promise<{ name: string; text: string }[]> {
  const partsDir = join(etcDir, "apt", "sources.list.d");
  const parts = (await readdir(partsDir).catch(() => [])).filter((name) =>
    /\.(list|sources)$/.test(name),
  );
  const names = [
    join(etcDir, "apt", "sources.list"),
    ...parts.toSorted().map((name) => join(partsDir, name)),
  ];
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFile(name, "utf8").catch(() => "") })),
  );
}

interface OsRelease {
  id: string;
  codename: string;
  name: string;
}

async function readOsRelease(etcDir: string): Promise<OsRelease | null> {
  const text = await readFile(join(etcDir, "os-release"), "utf8").catch(() => null);
  if (text === null) return null;
  const field = (name: string): string =>
    new RegExp(`^${name}="?([^"\\n]*)"?$`, "m").exec(text)?.[1] ?? "";
  return {
    id: field("ID"),
    codename: field("VERSION_CODENAME"),
    name: field("PRETTY_NAME") || field("ID"),
  };
}

/** The system's own tools, whatever PATH the caller has; proxies are the one thing taken from the caller. */
function toolEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const proxies = Object.entries(env).filter(([name]) => /^(https?|no|all)_proxy$/i.test(name));
  return {
    ...Object.fromEntries(proxies),
    PATH: TOOL_PATH,
    LC_ALL: "C",
    DEBIAN_FRONTEND: "noninteractive",
  };
}

async function libraryDirs(root: string): Promise<string[]> {
  const bases = ["usr/lib", "lib"];
  const nested = await Promise.all(
    bases.map(async (base) => {
      const entries = await readdir(join(root, base), { withFileTypes: true }).catch(() => []);
      return entries
        .filter((entry) => entry.isDirectory() && /-linux-/.test(entry.name))
        .map((entry) => join(base, entry.name));
    }),
  );
  return nested.flat();
}

async function firstExisting(root: string, paths: readonly string[]): Promise<string | null> {
  const found = await Promise.all(paths.map((path) => exists(join(root, path))));
  return paths.find((_, index) => found[index] === true) ?? null;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function ended(tool: string, result: CommandResult): void {
  if (result.code !== 0) throw new PackageStepError(`${tool} fails: ${lastLine(result)}`);
}

function lastLine({ stdout, stderr, code }: CommandResult): string {
  return (stderr.trim() || stdout.trim()).split("\n").at(-1) || `exit code ${code}`;
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
