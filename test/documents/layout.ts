import { dirname, join } from "node:path/posix";

/** What a file at a path below `src/` imports of its own service. */
export interface SourceFile {
  readonly path: string;
  readonly imports: readonly string[];
}

/**
 * The order of a service's folders: the numbered list below "## Layout" in its README, from top to bottom.
 * A line may name several folders or files side by side (1. `main.ts`, `config.ts`: …); these do not import each other.
 * Undefined without that heading.
 */
export function declaredFloors(readme: string): ReadonlyMap<string, number> | undefined {
  const [, section] = /^## Layout\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(readme) ?? [];
  if (section === undefined) return undefined;
  const floors = new Map<string, number>();
  for (const [, number = "", names = ""] of section.matchAll(/^(\d+)\. ((?:`[^`]+`(?:, )?)+)/gm))
    for (const [, name = ""] of names.matchAll(/`([^`]+)`/g))
      floors.set(name.replace(/\/$/, ""), Number(number));
  return floors;
}

export function readImports(path: string, text: string): SourceFile {
  const found = text.matchAll(/\b(?:from|import\(|import)\s*"(\.[^"]+)"/g);
  return { path, imports: [...found].map(([, target = ""]) => join(dirname(path), target)) };
}

/** Imports that go up or aside, and folders that the list does not name. */
export function brokenFloors(
  floors: ReadonlyMap<string, number>,
  files: readonly SourceFile[],
): string[] {
  const faults: string[] = [];
  for (const { path, imports } of files) {
    const own = floorName(path);
    const ownFloor = floors.get(own);
    if (ownFloor === undefined) {
      faults.push(`${path}: ${own} is not in the list of the README`);
      continue;
    }
    for (const target of imports) {
      const other = floorName(target);
      const otherFloor = floors.get(other);
      if (other !== own && otherFloor !== undefined && otherFloor <= ownFloor)
        faults.push(`${path} imports ${target}: ${other} does not stand below ${own}`);
    }
  }
  return faults;
}

/** Groups of files that import each other in a circle, types included. */
export function circlesOf(files: readonly SourceFile[]): string[] {
  const imports = new Map(files.map((file) => [file.path, file.imports]));
  const reach = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [...(imports.get(from) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(imports.get(next) ?? []));
    }
    return seen;
  };
  const reached = new Map(files.map(({ path }) => [path, reach(path)]));
  const circles = files
    .map(({ path }) => path)
    .filter((path) => reached.get(path)?.has(path))
    .map((path) =>
      files
        .map((file) => file.path)
        .filter((other) => reached.get(path)?.has(other) && reached.get(other)?.has(path))
        .join(", "),
    );
  return [...new Set(circles)].map((circle) => `in a circle: ${circle}`);
}

/** A folder directly below `src/`, or a file that lies there itself. */
function floorName(path: string): string {
  return path.split("/", 1)[0] ?? path;
}
