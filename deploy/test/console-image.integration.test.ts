import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "yard-console-image-"));
after(() => rm(folder, { recursive: true, force: true }));

test("the console is built from what the image's stage for it copies, and nothing else", async () => {
  const dockerfile = await readFile(join(root, "deploy/docker/Dockerfile"), "utf8");
  const stage = dockerfile.split(/^FROM /m).find((text) => / AS console$/m.test(text)) ?? "";
  const copied = [...stage.matchAll(/^COPY (\S+) \S+$/gm)].map(([, path = ""]) => path);
  assert.ok(copied.includes("apps/console"), stage);
  for (const path of copied) {
    const filter = (from: string): boolean =>
      !["node_modules", "dist", "test"].includes(basename(from));
    await cp(join(root, path), join(folder, path), { recursive: true, filter });
  }
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const built = join(folder, "built");
  const args = [join(folder, "apps/console/build-image.ts"), built];
  await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 60_000 });
  assert.ok((await readdir(built)).includes("index.html"));
});
