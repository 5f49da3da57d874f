import assert from "node:assert/strict";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../test-fixtures/temp-directory.ts";
import { HOME, packagedCommand, projectAt, stateDirectory, yardFrom } from "./locations.ts";

test("keys of the demo are outside the repository, which agents may read", () => {
  const state = stateDirectory({ HOME: "/home/someone" }, null);
  assert.equal(state.path, `${HOME}/.yard`);
  assert.ok(!state.keys.startsWith(HOME), state.keys);
  const moved = stateDirectory({ XDG_STATE_HOME: "/var/state" }, null);
  assert.match(moved.keys, /^\/var\/state\/switchyard\/[^/]+-[0-9a-f]{12}\/keys$/);
});

test("a chosen state directory holds everything", () => {
  const state = stateDirectory({ YARD_STATE_DIR: "/data/yard" }, "/some/project");
  assert.equal(state.keys, "/data/yard/keys");
  assert.equal(state.instanceFile, "/data/yard/dev.json");
});

test("each project has its own state, with its keys", () => {
  const env = { XDG_STATE_HOME: "/var/state" };
  const [one, other] = ["/srv/one/app", "/srv/two/app"].map((path) => stateDirectory(env, path));
  assert.equal(one?.path, "/srv/one/app/.switchyard");
  assert.equal(other?.path, "/srv/two/app/.switchyard");
  assert.equal(one?.keys, "/srv/one/app/.switchyard/keys");
  assert.equal(one?.operatorKey, "/srv/one/app/.switchyard/operator.nk");
  assert.notEqual(one?.formerKeys, other?.formerKeys);
  assert.match(one?.formerKeys ?? "", /^\/var\/state\/switchyard\/app-[0-9a-f]{12}\/keys$/);
});

test("the project is found upwards from a directory inside it", () => {
  const root = tempDirectory();
  const inner = join(root, "app", "files", "deep");
  mkdirSync(inner, { recursive: true });
  assert.equal(projectAt(inner, {}), null);
  mkdirSync(join(root, "app", "agents"));
  writeFileSync(join(root, "app", "policy.yaml"), "version: 1\nrules: []\n");
  assert.equal(projectAt(inner, {}), null, "agents and a policy alone may be another program's");
  writeFileSync(join(root, "app", "mcp-servers.json"), "{}");
  assert.equal(projectAt(inner, {}), join(root, "app"));
  mkdirSync(join(inner, ".switchyard"));
  assert.equal(projectAt(inner, {}), inner, "the nearest one counts");
});

test("neither a home directory nor what only Git has is a project, and a variable names one [X33]", () => {
  const home = tempDirectory();
  mkdirSync(join(home, ".switchyard"));
  mkdirSync(join(home, "code", ".git"), { recursive: true });
  assert.equal(projectAt(join(home, "code"), { HOME: home }), null);
  assert.equal(projectAt(home, { HOME: home, YARD_PROJECT: "/srv/app" }), "/srv/app");
});

test("the repository is no project, so that only the demo runs there", () => {
  assert.equal(projectAt(HOME, {}), null);
});

test("yard is named by its path from a directory", () => {
  assert.equal(yardFrom(HOME), "./yard");
  assert.equal(yardFrom(join(HOME, "my-project")), "../yard");
  assert.equal(yardFrom("/a/b/c/d"), yardFrom("/e/f/g/h"), "far away it is absolute");
});

test("an installed package is yard where PATH leads to it, else npx with the scope", () => {
  const root = realpathSync(tempDirectory());
  const home = join(root, "lib", "node_modules", "@switchyard", "yard");
  const linkIn = (folder: string, target: string): string => {
    mkdirSync(folder, { recursive: true });
    symlinkSync(target, join(folder, "yard"));
    return folder;
  };
  mkdirSync(join(home, "bin"), { recursive: true });
  writeFileSync(join(home, "bin", "yard.js"), "");
  writeFileSync(join(root, "yard-of-ruby"), "");
  const global = linkIn(join(root, "bin"), join(home, "bin", "yard.js"));
  const ofNpx = linkIn(join(root, "node_modules", ".bin"), join(home, "bin", "yard.js"));
  const other = linkIn(join(root, "ruby"), join(root, "yard-of-ruby"));
  const named = (...folders: string[]) => packagedCommand(home, folders.join(delimiter));
  assert.equal(named("/no/such/folder", global), "yard");
  assert.equal(named(ofNpx, global), "yard");
  assert.equal(named(ofNpx), "npx @switchyard/yard", "only npx has it on PATH");
  assert.equal(named(other, global), "npx @switchyard/yard", "yard is another program there");
  assert.equal(named(), "npx @switchyard/yard");
});
