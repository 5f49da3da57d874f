import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { StateDirectory } from "../locations.ts";

/**
 * Moves the keys of a project from the person's own state directory, where older versions had them, into that of the project. True when it has. Each file is
 * copied under another name and renamed, and the old ones are deleted when all are there, so a kill loses none; files that are in the project already stay.
 * The old ones also stay where the project has others of the same name, and what is no key stays in any case.
 */
export async function moveKeys({
  keys,
  operatorKey,
  formerKeys,
}: Pick<StateDirectory, "keys" | "operatorKey" | "formerKeys">): Promise<boolean> {
  if (formerKeys === null) return false;
  const names = await readdir(formerKeys).catch(noneWhenMissing);
  if (names.length === 0) return false;
  await mkdir(keys, { recursive: true, mode: 0o700 });
  await chmod(keys, 0o700);
  const former = dirname(formerKeys);
  const moves = [
    ...names.map((name) => [join(formerKeys, name), join(keys, name)] as const),
    [join(former, basename(operatorKey)), operatorKey] as const,
  ];
  const moved: boolean[] = [];
  for (const [from, to] of moves) moved.push(await copyKey(from, to));
  if (!moved.every(Boolean)) return false;
  for (const [from] of moves) await rm(from, { force: true });
  for (const folder of [formerKeys, former]) await rmdir(folder).catch(keepWhenNotEmpty);
  return true;
}

/** False when there is another file in its place. */
async function copyKey(from: string, to: string): Promise<boolean> {
  const content = await readFile(from).catch(nullWhenMissing);
  if (content === null) return true;
  const present = await readFile(to).catch(nullWhenMissing);
  if (present !== null) return present.equals(content);
  const copy = `${to}.moving`;
  await copyFile(from, copy);
  await rename(copy, to);
  return true;
}

function noneWhenMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === "ENOENT") return [];
  throw error;
}

function keepWhenNotEmpty(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
}

function nullWhenMissing(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}
