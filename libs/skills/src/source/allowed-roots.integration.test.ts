import assert from "node:assert/strict";
import { mkdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { StartError } from "@switchyard/service/start-error";
import { locate, openRoots, presentRoots } from "./allowed-roots.ts";

const directory = await realpath(await testDirectory());
const at = (...names: string[]) => join(directory, ...names);
await mkdir(at("project", "skills"), { recursive: true });
await mkdir(at("user"));
await mkdir(at("outside", "skills"), { recursive: true });
await writeFile(at("project", "file.md"), "");
await symlink(at("outside"), at("project", "escape"));
await symlink(at("project"), at("linked"));

const rootsOf = (...list: string[]) => openRoots(list.join(delimiter));

test("each root is read with its kind, the first before the others", async () => {
  const roots = await rootsOf(
    `found=${at("project")}`,
    `user=${at("user")}`,
    `workspace?=${at("later")}`,
  );
  assert.deepEqual(
    roots.map(({ path, scope, needsTrust, mayBeMissing }) => [
      path,
      scope,
      needsTrust,
      mayBeMissing,
    ]),
    [
      [at("project"), "project", true, false],
      [at("user"), "user", false, false],
      [at("later"), "workspace", false, true],
    ],
  );
});

test("a root that is not a directory, not absolute, or in another one is refused by name", async () => {
  for (const [list, message] of [
    [["relative"], /relative is not an absolute path/],
    [[at("nowhere")], /nowhere is not a directory/],
    [[at("project", "file.md")], /file\.md is not a directory/],
    [[at("project"), at("project", "skills")], /skills lies in/],
    [[at("project", "skills"), `user=${at("project")}`], /lies in/],
    [[at("project"), at("linked", "skills")], /lies in/],
    [[at("user"), `user?=${at("user", "later")}`], /lies in/],
    [[at("user"), at("user")], /lies in/],
  ] as const)
    await assert.rejects(rootsOf(...list), (error) => {
      assert.ok(error instanceof StartError, String(error));
      assert.match(error.message, message);
      return true;
    });
});

test("a directory is found in its root by any way that leads to it, and no link leads out", async () => {
  const roots = await rootsOf(at("linked"), at("user"));
  const kindOf = async (path: string) => (await locate(roots, path)).kind;
  assert.deepEqual(await locate(roots, at("linked", "skills")), {
    kind: "inside",
    root: at("project"),
    directory: at("project", "skills"),
  });
  assert.equal(await kindOf(at("project", "skills")), "inside");
  assert.equal(await kindOf("skills"), "inside");
  assert.equal(await kindOf(at("project", "nothing")), "missing");
  for (const path of [
    at("project", "escape"),
    at("project", "escape", "skills"),
    at("project", "..", "outside"),
    "../outside",
    `${at("user")}s`,
  ])
    assert.equal(await kindOf(path), "outside", path);
});

test("no caller learns whether a path outside the roots exists", async () => {
  const roots = await rootsOf(at("project"));
  const answers = await Promise.all(["outside", "nowhere"].map((name) => locate(roots, at(name))));
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ["outside", "outside"],
  );
});

test("a root that is created later counts from then on, unless it is a link to another directory", async () => {
  const roots = await rootsOf(at("project"), `user?=${at("later")}`);
  const present = async () => (await presentRoots(roots)).present.map(({ path }) => path);
  assert.deepEqual((await presentRoots(roots)).missing, [at("later")]);
  await mkdir(at("later"));
  assert.deepEqual(await present(), [at("project"), at("later")]);
  await rm(at("later"), { recursive: true });
  await symlink(at("outside"), at("later"));
  assert.deepEqual(await present(), [at("project")]);
});
