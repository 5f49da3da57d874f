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
  const table = text.slice(text.indexOf("| library"), text.indexOf("| our own"));
  const cells = table.split("\n").map((row) => row.split("|")[1] ?? "");
  const names = [...cells.join().matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  assert.deepEqual(names.toSorted(), [...used].toSorted());
});

function read(path: string): string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, path), "utf8"));
  return Object.keys(dependencies).filter((name) => !name.startsWith("@switchyard/"));
}
