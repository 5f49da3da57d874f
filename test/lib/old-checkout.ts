import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
const WORKSPACES = ["libs", "services", "apps"];
const OWN_SCOPE = "@switchyard";

/** Null when the history has the commit; else the reason why its code is missing. */
export async function whyNoCheckout(commit: string): Promise<string | null> {
  return run("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root }).then(
    () => null,
    () => `commit ${commit} is not in the history of this clone`,
  );
}

/** Returns the text of a file as it was in a commit that the history has. */
export async function readAt(commit: string, path: string): Promise<string> {
  const { stdout } = await run("git", ["show", `${commit}:${path}`], {
    cwd: root,
    maxBuffer: 64 * 1_024 ** 2,
  });
  return stdout;
}

/** Puts the code of a commit into an empty directory, with the packages that are installed here. */
export async function checkOut(commit: string, directory: string): Promise<void> {
  const archive = join(directory, "code.tar");
  await run("git", ["archive", "--output", archive, commit], { cwd: root });
  await run("tar", ["-xf", archive, "-C", directory]);
  await rm(archive);
  const installed = await readdir(join(root, "node_modules"));
  await mkdir(join(directory, "node_modules", OWN_SCOPE), { recursive: true });
  for (const name of installed.filter((one) => one !== OWN_SCOPE))
    await symlink(join(root, "node_modules", name), join(directory, "node_modules", name));
  for (const workspace of WORKSPACES)
    for (const name of await readdir(join(directory, workspace)))
      await link(directory, join(workspace, name));
}

/** One of the project's own packages, and what is installed for it alone. */
async function link(directory: string, path: string): Promise<void> {
  const text = await readFile(join(directory, path, "package.json"), "utf8");
  const { name } = JSON.parse(text) as { name: string };
  await symlink(join(directory, path), join(directory, "node_modules", name));
  const own = join(root, path, "node_modules");
  if ((await readdir(own).catch(() => [])).length > 0)
    await symlink(own, join(directory, path, "node_modules"));
}
