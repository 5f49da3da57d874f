import { realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, sep } from "node:path";
import { projectAt } from "../locations.ts";

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
  const { project, home, cwd, env, trustFound } = options;
  const around = projectAt(cwd, { ...env, HOME: home });
  const isNamed = isAbsolute(env["YARD_PROJECT"] ?? env["CLAWFT_PROJECT"] ?? "");
  const trust = isNamed || trustFound ? "project" : "found";
  const candidates = [
    ["project", project] as const,
    // Without one around, the working directory may become one.
    ...(around === null && cwd === home ? [] : below(around ?? cwd, trust)),
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
