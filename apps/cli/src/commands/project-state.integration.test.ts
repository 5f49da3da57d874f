import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

// Nothing is started here: each command ends before that.
const directory = tempDirectory();
const { YARD_STATE_DIR: _, ...person } = yardEnvironment("");
const env = { ...person, HOME: directory, XDG_STATE_HOME: join(directory, "person") };

test("outside of every project yard dev starts nothing and names what to do", async () => {
  const { code, stderr } = await yard(["dev"], env, directory);
  assert.equal(code, 2, stderr);
  assert.match(stderr, /yard init my-project/);
  assert.match(stderr, /yard dev --demo/);
  assert.deepEqual(readdirSync(directory), []);
});

test("yard dev starts the project around the working directory, after it has checked the policy and its tests", async () => {
  const project = join(directory, "my project");
  assert.equal((await yard(["init", project], env)).code, 0);
  const file = join(project, "policies", "rules.yaml");
  writeFileSync(file, "version: 1\nrules:\n  - id: a\n    efect: allow\n  - id: b\n");
  const inside = join(project, "files");
  const { code, stderr } = await yard(["dev"], env, inside);
  assert.equal(code, 1, stderr);
  // Every problem is printed, each with its place.
  assert.match(stderr, /rules\.yaml:4:\d+: unknown key "efect".*did you mean "effect"/);
  assert.match(stderr, /rules\.yaml:3:\d+: .*effect is missing/);
  assert.match(stderr, /rules\.yaml:5:\d+: /);
  const state = join(project, ".switchyard");
  assert.equal(statSync(state).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(state).toSorted(), [".gitignore", "logs"]);
  if (hasGit()) {
    execFileSync("git", ["init", "--quiet"], { cwd: project });
    const seen = execFileSync("git", ["status", "--short", "-uall"], { cwd: project });
    assert.doesNotMatch(String(seen), /switchyard/);
  }
  const list = await yard(["runs", "list"], env, inside);
  assert.equal(list.code, 6);
  assert.ok(list.stderr.includes(`nothing runs for ${project}`), list.stderr);
});

test("a failed test of the policy is printed with its place", async () => {
  const project = join(directory, "tested");
  assert.equal((await yard(["init", project], env)).code, 0);
  const none = "version: 1\nrules:\n  - id: none\n    effect: deny\n";
  writeFileSync(join(project, "policies", "rules.yaml"), none);
  const { code, stderr } = await yard(["dev"], env, project);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /rules\.test\.yaml:\d+: the test ".+" fails: /);
});

test("a project whose folder cannot be written is refused with what to do", async () => {
  const project = join(directory, "closed");
  assert.equal((await yard(["init", project], env)).code, 0);
  // A file in the way refuses the directory also for root, as a read-only file system does.
  writeFileSync(join(project, ".switchyard"), "");
  const { code, stderr } = await yard(["dev"], env, project);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /\.switchyard cannot be written\n +→ .*YARD_STATE_DIR/);
});

function hasGit(): boolean {
  try {
    execFileSync("git", ["--version"]);
    return true;
  } catch {
    return false;
  }
}
