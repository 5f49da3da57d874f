import assert from "node:assert/strict";
import { chmod, mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { ownWorkspaces } from "./workspaces.ts";

const NOBODY = 65_534;

test("unused workspaces are removed, those of runs under their whole ids and those with directories in them that were left closed", async () => {
  const parent = await testDirectory();
  await chmod(parent, 0o777);
  // Root may remove whatever there is; others may not, and a service is seldom root.
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    const workspaces = ownWorkspaces({ parent, scope: "run", mode: "limited-control" });
    for (const name of ["run-a", "run-cli~b", "run-c"])
      await mkdir(join(parent, name, "cache", "module"), { recursive: true });
    await writeFile(join(parent, "run-a", "cache", "module", "read-only.txt"), "");
    for (const name of ["cache/module", "cache"]) await chmod(join(parent, "run-a", name), 0o555);
    await chmod(join(parent, "run-a"), 0);
    await utimes(join(parent, "run-a"), 0, 0);
    await utimes(join(parent, "run-cli~b"), 0, 0);
    assert.equal(await workspaces.sweep(new Date(Date.now() - 60_000)), 2);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  assert.deepEqual(await readdir(parent), ["run-c"]);
});

test("a run that is not begun yet has its workspace, unless that is one of a session without an id", async () => {
  const parent = await testDirectory();
  const run = { user: "cli", runId: "cli~new" };
  const mode = "limited-control";
  const single = ownWorkspaces({ parent, scope: "run", mode });
  assert.deepEqual(await single.ofNewRun(run), await single.of({ ...run, agent: "demo" }));
  assert.equal(await ownWorkspaces({ parent, scope: "session", mode }).ofNewRun(run), null);
});
