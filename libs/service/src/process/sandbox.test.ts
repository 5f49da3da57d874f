import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { mountArguments, type Sandbox } from "./sandbox.ts";

const directory = mkdtempSync("/tmp/switchyard-view-");
after(() => rmSync(directory, { recursive: true }));
const make = (name: string): string => {
  const path = join(directory, name);
  mkdirSync(path, { recursive: true });
  return path;
};
const [work, state, home] = [make("work"), make("work/.yard"), make("work/.yard/homes/files")];
const file = join(work, "key");
writeFileSync(file, "");
const link = join(directory, "link");
symlinkSync(work, link);

/** The mounts below the test's own directory, in their order. */
function mounts(sandbox: Partial<Sandbox>): string[] {
  const all = mountArguments({ writable: [], hidden: [], network: false, ...sandbox });
  const found: string[] = [];
  for (const [index, word] of all.entries()) {
    const path = all[index + 1] ?? "";
    if (word === "--tmpfs" && path.startsWith(directory)) found.push(`empty ${path}`);
    if (!word.endsWith("bind")) continue;
    const at = all[index + 2] ?? "";
    if (at.startsWith(directory))
      found.push(`${word === "--bind" ? "write" : path === at ? "read" : "empty"} ${at}`);
  }
  return found.map((line) => line.replace(directory, "").replace(" /", " "));
}

test("of two paths the deeper one counts, in whichever order they are named", () => {
  assert.deepEqual(mounts({ writable: [home, work], secret: [state] }), [
    "write work",
    "empty work/.yard",
    "write work/.yard/homes/files",
  ]);
});

test("a secret is hidden whatever else is said of it, and what is only hidden can be shown", () => {
  assert.deepEqual(mounts({ writable: [work], readable: [state], hidden: [state] }), [
    "write work",
    "read work/.yard",
  ]);
  assert.deepEqual(mounts({ writable: [work, file], secret: [file] }), [
    "write work",
    "empty work/key",
  ]);
});

test("a link is where it leads, and what is missing is left out", () => {
  assert.deepEqual(mounts({ writable: [link, join(directory, "nothing")] }), ["write work"]);
  // A program needs the path that it uses, also in a sandbox that shows nothing else.
  assert.deepEqual(
    mounts({ files: "system", readable: [link] }),
    ["read work", "read link"].toReversed(),
  );
});

test("what looks like the directory that it is in needs no mount of its own", () => {
  assert.deepEqual(mounts({ readable: [work, state], hidden: [] }), ["read work"]);
  assert.deepEqual(mounts({ files: "system", secret: [work] }), []);
});
