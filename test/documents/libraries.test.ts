import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./markdown-files.ts";

test("every library of a service, a library or an app is in decisions/042, and no other", () => {
  const used = new Set(
    globSync("{libs,services,apps}/*/package.json", { cwd: root }).flatMap(read),
  );
  const text = readFileSync(join(root, "decisions/042-libraries.md"), "utf8");
  const list = text.slice(text.indexOf("\nLibraries:"), text.indexOf("\nOur own:"));
  const items = list.split("\n").map((line) => line.split(": ")[0] ?? "");
  const quoted = [...items.join().matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  const names = quoted.filter((name) => !/^(?:libs|apps)\//.test(name));
  assert.deepEqual(names.toSorted(), [...used].toSorted());
});

function read(path: string): string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, path), "utf8"));
  return Object.keys(dependencies).filter((name) => !name.startsWith("@switchyard/"));
}
