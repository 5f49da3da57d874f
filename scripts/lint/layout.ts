import { join } from "node:path/posix";

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

/** Returns what is wrong with an import in a file at a path below `src/`; null when it goes down, or to another package. */
export function upwardImport(
  floors: ReadonlyMap<string, number>,
  path: string,
  specifier: string,
): string | null {
  if (!specifier.startsWith(".")) return null;
  const own = floorName(path);
  const other = floorName(join(path, "..", specifier));
  const floor = floors.get(own);
  const otherFloor = floors.get(other);
  if (other === own || floor === undefined || otherFloor === undefined || otherFloor > floor)
    return null;
  return `${other} does not stand below ${own} in the Layout of the service's README.`;
}

/** A folder directly below `src/`, or a file that lies there itself. */
export function floorName(path: string): string {
  return path.split("/", 1)[0] ?? path;
}
