import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../test-fixtures/temp-directory.ts";
import { getByPath } from "./get-by-path.ts";
import { currentBranch, gitRoot, isGitRepo } from "./git-repository.ts";

test("a value is found by its path, and nothing that is inherited [D31, D63]", () => {
  const value = { contexts: { work: { nats: "nats://a" } }, list: ["x"] };
  assert.equal(getByPath(value, "contexts.work.nats"), "nats://a");
  assert.equal(getByPath(value, "list.0"), "x");
  assert.equal(getByPath(value, "contexts.home.nats"), undefined);
  assert.equal(getByPath(value, "constructor.name"), undefined);
});

test("the repository and its branch are found without git [D33]", () => {
  const directory = tempDirectory();
  mkdirSync(join(directory, ".git"));
  writeFileSync(join(directory, ".git", "HEAD"), "ref: refs/heads/feature/x\n");
  mkdirSync(join(directory, "a"));
  assert.equal(gitRoot(join(directory, "a")), directory);
  assert.equal(currentBranch(join(directory, "a")), "feature/x");
  assert.equal(isGitRepo("/"), false);
  assert.equal(currentBranch("/"), null);
});
