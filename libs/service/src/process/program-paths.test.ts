import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { programPaths } from "./program-paths.ts";

const home = mkdtempSync("/tmp/switchyard-home-");
after(() => rmSync(home, { recursive: true }));
const write = (name: string): string => {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  return path;
};
const shown = (command: string, args: string[], ...path: string[]): string[] =>
  programPaths({ command, args, path: path.join(":"), home })
    .filter((each) => each.startsWith(home))
    .map((each) => each.slice(home.length + 1));

test("of a package that npm has installed all that lies beside it is shown, also through the link in bin", () => {
  const script = write("tools/node_modules/@acme/server/dist/index.js");
  write("tools/node_modules/.bin/other");
  symlinkSync(script, join(home, "tools/node_modules/.bin/server"));
  const bin = join(home, "tools/node_modules/.bin");
  assert.deepEqual(shown("server", [], bin), [
    "tools/node_modules/.bin",
    "tools/node_modules/.bin/server",
    "tools/node_modules",
  ]);
  assert.deepEqual(shown("node", [script]), [
    "tools/node_modules/@acme/server/dist/index.js",
    "tools/node_modules",
  ]);
});

test("of a script the nearest package is shown, without one its directory, and never the home", () => {
  write("project/package.json");
  assert.deepEqual(shown("node", [write("project/src/server.ts")]), [
    "project/src/server.ts",
    "project",
  ]);
  assert.deepEqual(shown("python3", [write("loose/run.py")]), ["loose/run.py", "loose"]);
  assert.deepEqual(shown("sh", [write("start.sh")]), ["start.sh"]);
});

test("programs of a version manager are shown with what it keeps, and arguments that are data are not", () => {
  write(".pyenv/shims/python3");
  write(".local/bin/uv");
  const data = dirname(write("documents/letter.txt"));
  assert.deepEqual(
    shown(
      "python3",
      ["-m", "server", data, "/nowhere/at/all"],
      join(home, ".pyenv/shims"),
      join(home, ".local/bin"),
    ),
    [".pyenv/shims", ".local/bin", ".pyenv", ".pyenv/shims/python3"],
  );
});
