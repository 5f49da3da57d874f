import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { ToolError } from "../tool-error.ts";
import { walkFiles } from "../tools/walk-files.ts";
import { openForReading } from "./open-path.ts";
import { replaceFile } from "./replace-file.ts";
import { openWorkspace, workspacePath } from "./workspace.ts";

const { root, outside, context, put } = await testWorkspace();
const { workspace } = context;

async function read(path: string): Promise<string> {
  const file = await openForReading(await workspacePath(workspace, path));
  try {
    return (await file.readFile()).toString("utf8");
  } finally {
    await file.close();
  }
}

async function write(path: string, text: string): Promise<void> {
  await replaceFile(await workspacePath(workspace, path), Buffer.from(text));
}

test("paths out of the workspace are refused, however they are written [E12]", async () => {
  for (const path of [
    "../outside/secret.txt",
    join(outside, "secret.txt"),
    "a/../../outside/x",
    "/",
  ])
    await assert.rejects(workspacePath(workspace, path), (error) => {
      assert.ok(error instanceof ToolError);
      assert.equal(
        error.message,
        `Path '${path}' is outside the allowed workspace '${root}'; use a path inside it.`,
      );
      return true;
    });
});

test("a name that begins like the way up is a name", async () => {
  await put("..notes/a.txt", "fine");
  assert.equal(await read("..notes/a.txt"), "fine");
});

test("a link out of the workspace is refused, one inside it is followed", async () => {
  await put("inside/a.txt", "a");
  await symlink("inside", join(root, "to-inside"));
  await symlink(outside, join(root, "to-outside"));
  await symlink(join(outside, "secret.txt"), join(root, "to-secret"));
  assert.equal(await read("to-inside/a.txt"), "a");
  await assert.rejects(read("to-outside/secret.txt"), /outside the allowed workspace/);
  await assert.rejects(read("to-secret"), /outside the allowed workspace/);
});

test("a file that does not exist yet below a link out of the workspace is refused [ER4]", async () => {
  await symlink(outside, join(root, "escape"));
  await assert.rejects(write("escape/new/file.txt", "x"), /outside the allowed workspace/);
  await symlink(join(outside, "dangling.txt"), join(root, "dangling"));
  await assert.rejects(write("dangling", "x"), /outside the allowed workspace/);
  await symlink("inside/not-yet.txt", join(root, "not-yet"));
  await write("not-yet", "kept inside");
  assert.equal(await read("inside/not-yet.txt"), "kept inside");
  assert.deepEqual(await readdir(outside), ["secret.txt"]);
});

test("an error reveals nothing about a target outside: existing, missing and unreadable ones look alike [E12]", async () => {
  await mkdir(join(outside, "closed", "in"), { recursive: true });
  await chmod(join(outside, "closed"), 0);
  await symlink("circle", join(outside, "circle"));
  await symlink("nothing", join(outside, "dangling"));
  const places = ["secret.txt", "missing", "secret.txt/x", "missing/x", "closed/in", "closed/no"];
  places.push("circle", "circle/x", "dangling", "x".repeat(300), `missing/${"x".repeat(300)}`);
  const reported = new Set<string>();
  for (const [index, target] of places.entries()) {
    await symlink(join(outside, target).slice(0, 4_000), join(root, `oracle-${index}`));
    await symlink(`oracle-${index}`, join(root, `oracle-chain-${index}`));
    const ways = [`oracle-${index}`, `oracle-chain-${index}`, `oracle-${index}/below`];
    ways.push(join(outside, target), join("..", "outside", target));
    for (const path of ways)
      for (const attempt of [() => read(path), () => write(path, "x")])
        await assert.rejects(attempt, (error) => {
          assert.ok(error instanceof ToolError);
          reported.add(error.message.replaceAll(path, "PATH"));
          return true;
        });
  }
  await chmod(join(outside, "closed"), 0o700);
  for (const name of ["closed", "circle", "dangling"])
    await rm(join(outside, name), { recursive: true });
  assert.deepEqual(
    [...reported],
    [`Path 'PATH' is outside the allowed workspace '${root}'; use a path inside it.`],
  );
});

test("circles of links, zero bytes and endless paths are clear errors", async () => {
  await symlink("round", join(root, "round"));
  await assert.rejects(read("round"), /circle of symbolic links/);
  await assert.rejects(workspacePath(workspace, "a\0b"), /zero byte/);
  await assert.rejects(workspacePath(workspace, "a/".repeat(4_000)), /longer than 4096 bytes/);
  await assert.rejects(read("x".repeat(300)), /too long/);
  await assert.rejects(workspacePath(workspace, ""), /is empty/);
});

test("a pipe is refused and does not make the call wait", async () => {
  execFileSync("mkfifo", [join(root, "pipe")]);
  await assert.rejects(read("pipe"), /not a regular file/);
  await assert.rejects(write("pipe", "x"), /not a regular file/);
});

test("a link that replaces a directory after the check reaches nothing", async () => {
  await put("swap/file.txt", "harmless");
  const target = await workspacePath(workspace, "swap/file.txt");
  await rename(join(root, "swap"), join(root, "swapped-away"));
  await symlink(outside, join(root, "swap"));
  await writeFile(join(outside, "file.txt"), "out of reach");
  await assert.rejects(openForReading(target), ToolError);
  await assert.rejects(replaceFile(target, Buffer.from("overwritten")), ToolError);
  assert.equal(await readFile(join(outside, "file.txt"), "utf8"), "out of reach");
  await rm(join(outside, "file.txt"));
});

test("a link that replaces a file after the check is not followed", async () => {
  await put("swapped.txt", "harmless");
  const target = await workspacePath(workspace, "swapped.txt");
  await rm(join(root, "swapped.txt"));
  await symlink(join(outside, "secret.txt"), join(root, "swapped.txt"));
  await assert.rejects(openForReading(target), ToolError);
  await replaceFile(target, Buffer.from("kept inside"));
  assert.equal(await readFile(join(outside, "secret.txt"), "utf8"), "top secret");
});

test("a directory that alternates with a link never lets a call out", async () => {
  const name = join(root, "race");
  const race = new AbortController();
  const racer = (async () => {
    const clear = () => rm(name, { recursive: true, force: true });
    while (!race.signal.aborted) {
      // A concurrent write creates the directory again; the next iteration removes it.
      await clear().catch(() => undefined);
      await symlink(outside, name).catch(() => undefined);
      await clear().catch(() => undefined);
      await mkdir(name).catch(() => undefined);
      await writeFile(join(name, "secret.txt"), "harmless").catch(() => undefined);
    }
  })();
  let served = 0;
  try {
    for (let attempt = 0; attempt < 1_000; attempt += 1) {
      const text = await read("race/secret.txt").catch((error: unknown) => {
        assert.ok(error instanceof ToolError, String(error));
        return null;
      });
      if (text !== null) {
        // The other side may be writing it at this moment.
        assert.ok("harmless".startsWith(text));
        served += 1;
      }
      await write("race/secret.txt", "harmless").catch((error: unknown) =>
        assert.ok(error instanceof ToolError, String(error)),
      );
    }
  } finally {
    race.abort();
    await racer;
  }
  assert.ok(served > 0);
  assert.deepEqual(await readdir(outside), ["secret.txt"]);
  assert.equal(await readFile(join(outside, "secret.txt"), "utf8"), "top secret");
});

test("a replaced file keeps its permissions, and no temporary file is left", async () => {
  await put("kept/run.sh", "old");
  execFileSync("chmod", ["750", join(root, "kept/run.sh")]);
  await write("kept/run.sh", "new");
  assert.equal((await stat(join(root, "kept/run.sh"))).mode & 0o777, 0o750);
  assert.deepEqual(await readdir(join(root, "kept")), ["run.sh"]);
});

test("a file that was changed since it was read is not replaced", async () => {
  await put("shared.txt", "read");
  const before = await stat(join(root, "shared.txt"), { bigint: true });
  await write("shared.txt", "of somebody else");
  const target = await workspacePath(workspace, "shared.txt");
  await assert.rejects(
    replaceFile(target, Buffer.from("edited"), { read: before }),
    /changed by another writer .* Read it again/,
  );
  await rm(join(root, "shared.txt"));
  await assert.rejects(replaceFile(target, Buffer.from("edited"), { read: before }), ToolError);
  assert.equal((await readdir(root)).includes("shared.txt"), false);
});

test("full-control reaches files outside the workspace [E12]", async () => {
  const free = await openWorkspace(root, "full-control");
  const file = await openForReading(await workspacePath(free, "../outside/secret.txt"));
  try {
    assert.equal((await file.readFile()).toString("utf8"), "top secret");
  } finally {
    await file.close();
  }
});

test("what belongs to the installation is opened in no mode and by no detour [46]", async () => {
  await put(".switchyard/keys/admin.nk", "seed");
  await put(".switchyard-notes.txt", "of the project");
  await symlink(".switchyard/keys", join(root, "borrowed"));
  const hidden = [join(root, ".switchyard")];
  const detours = [
    ".switchyard",
    ".switchyard/keys/admin.nk",
    "./sub/../.switchyard/keys/new.txt",
    "borrowed/admin.nk",
    join(root, ".switchyard", "keys"),
    `/proc/self/root${root}/.switchyard/keys/admin.nk`,
  ];
  for (const mode of ["limited-control", "full-control"] as const) {
    const guarded = await openWorkspace(root, mode, { hidden });
    for (const path of detours)
      await assert.rejects(workspacePath(guarded, path), ToolError, `${mode}: ${path}`);
    await workspacePath(guarded, ".switchyard-notes.txt");
    const target = await workspacePath(guarded, ".");
    const { signal } = new AbortController();
    for await (const { path } of walkFiles(target, { recursive: true, signal }))
      assert.ok(!path.includes("admin.nk"), path);
  }
});

test("a workspace that is not a directory is refused", async () => {
  await put("just-a-file", "");
  await assert.rejects(
    openWorkspace(join(root, "just-a-file"), "limited-control"),
    /not a directory/,
  );
  await assert.rejects(openWorkspace(join(root, "nowhere"), "limited-control"), /not a directory/);
});
