import { realpath, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";

export interface SkillRootsOptions {
  /** The project that the person named. */
  readonly project: string;
  /** The working directory: a project is searched for from there upwards. */
  readonly cwd: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** True: what a found project brings needs no trust of its own. */
  readonly trustFound: boolean;
}

/** Ours first; the second is the directory of clawft. */
const DIRECTORIES = [".switchyard", ".clawft"] as const;

/**
 * The importer's roots, the highest precedence first: the named project; the project around the working
 * directory; the person's own; the person's workspace. What does not exist yet is marked with a `?`: the
 * importer waits for it. What lies in a root before it is left out.
 */
export async function findSkillRoots(options: SkillRootsOptions): Promise<string> {
  const { project, home } = options;
  const found = await findMarkedProject(options);
  const candidates = [
    ["project", project] as const,
    ...(found === null ? [] : below(found.directory, found.kind)),
    ...(found === null && options.cwd !== home
      ? below(options.cwd, options.trustFound ? ("project" as const) : ("found" as const))
      : []),
    ...below(home, "user"),
    ...DIRECTORIES.map((name) => ["workspace", join(home, name, "workspace", "skills")] as const),
  ];
  const taken: string[] = [];
  const roots: string[] = [];
  for (const [kind, path] of candidates) {
    if (path.includes(delimiter)) continue;
    const real = await directoryAt(path);
    const place = real ?? path;
    if (taken.some((other) => isWithin(other, place) || isWithin(place, other))) continue;
    taken.push(place);
    // A named project that does not exist is a mistake, which the importer reports.
    const isAwaited = real === null && path !== project;
    if (isAwaited) roots.push(`${kind}?=${path}`);
    else roots.push(kind === "project" ? path : `${kind}=${path}`);
  }
  return roots.join(delimiter);
}

/**
 * `$YARD_PROJECT` or `$CLAWFT_PROJECT`, else the nearest directory upwards with one of our directories
 * [D43]. The search ends below the home directory: the person's own directory would make the whole home a
 * project [X33]. A `.git` alone makes nothing a project.
 */
async function findMarkedProject({
  cwd,
  home,
  env,
  trustFound,
}: SkillRootsOptions): Promise<{ directory: string; kind: "project" | "found" } | null> {
  const named = env["YARD_PROJECT"] ?? env["CLAWFT_PROJECT"];
  if (named !== undefined && isAbsolute(named)) return { directory: named, kind: "project" };
  for (let at = cwd; at !== home && at !== dirname(at); at = dirname(at)) {
    for (const name of DIRECTORIES) {
      if ((await directoryAt(join(at, name))) === null) continue;
      return { directory: at, kind: trustFound ? "project" : "found" };
    }
  }
  return null;
}

function below<K extends string>(directory: string, kind: K): (readonly [K, string])[] {
  return DIRECTORIES.flatMap((name) =>
    ["skills", "agents"].map((part) => [kind, join(directory, name, part)] as const),
  );
}

async function directoryAt(path: string): Promise<string | null> {
  const facts = await stat(path).catch(() => null);
  return facts?.isDirectory() === true ? realpath(path) : null;
}

function isWithin(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}
