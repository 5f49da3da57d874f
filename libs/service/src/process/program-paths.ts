import { existsSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";

/** Below the home directory: where version managers keep the programs that directories of PATH lead to. */
const MANAGED =
  ".nvm .pyenv .asdf .volta .bun .deno .rbenv .local/share/mise .local/share/uv .local/share/fnm .local/share/pnpm".split(
    " ",
  );
const PACKAGE_FILES = ["package.json", "pyproject.toml", "deno.json", "go.mod"];
const LEVELS = 6;

export interface ProgramToShow {
  readonly command: string;
  readonly args: readonly string[];
  /** In the form of PATH. */
  readonly path: string;
  readonly home: string;
}

/**
 * The files and directories that a program is made of, wherever they are: for a sandbox that does not show everything. These
 * are the directories of PATH, and for the command and each argument that is the absolute path of a file the directory of its
 * package. An argument that is a directory is data, not a program.
 */
export function programPaths({ command, args, path, home }: ProgramToShow): string[] {
  const directories = path
    .split(delimiter)
    .filter((entry) => isAbsolute(entry) && existsSync(entry));
  const named = isAbsolute(command) ? [command] : directories.map((one) => join(one, command));
  const files = [...named, ...args.filter((arg) => isAbsolute(arg)), process.execPath];
  const managed = MANAGED.map((name) => join(home, name)).filter((manager) =>
    directories.some((directory) => directory.startsWith(`${manager}${sep}`)),
  );
  const packages = files.flatMap((file) => packageOf(file, home));
  return [...new Set([...directories, ...managed, ...packages])];
}

/** Both the file as it is named and its package: it may be a link into another one. */
function packageOf(file: string, home: string): string[] {
  let real: string;
  try {
    real = realpathSync(file);
    if (!statSync(real).isFile()) return [];
  } catch {
    return [];
  }
  const modules = real.indexOf(`${sep}node_modules${sep}`);
  if (modules !== -1) return [file, join(real.slice(0, modules), "node_modules")];
  let directory = dirname(real);
  for (let level = 0; level < LEVELS && isOwn(directory, home); level += 1) {
    if (PACKAGE_FILES.some((name) => existsSync(join(directory, name))))
      return [file, directory, ...modulesAbove(directory, home)];
    directory = dirname(directory);
  }
  return isOwn(dirname(real), home) ? [file, dirname(real)] : [file, real];
}

/** In a workspace the packages of all members are in the directories above. */
function modulesAbove(directory: string, home: string): string[] {
  const parent = dirname(directory);
  if (!isOwn(parent, home)) return [];
  const modules = join(parent, "node_modules");
  return [...(existsSync(modules) ? [modules] : []), ...modulesAbove(parent, home)];
}

/** A directory that holds more than one program's files is not shown for the sake of one. */
function isOwn(directory: string, home: string): boolean {
  const parts = directory.split(sep).filter((part) => part !== "");
  return parts.length > 1 && directory !== home && !home.startsWith(`${directory}${sep}`);
}
