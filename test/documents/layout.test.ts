import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./markdown-files.ts";
import { brokenFloors, circlesOf, declaredFloors, readImports, type SourceFile } from "./layout.ts";

for (const service of globSync("services/*/README.md", { cwd: root }).map(nameOf).toSorted())
  test(`${service}: imports go down in the order that its README declares, and never in a circle`, () => {
    const floors = declaredFloors(
      readFileSync(join(root, "services", service, "README.md"), "utf8"),
    );
    assert.ok(floors !== undefined, "the README has no list of folders below ## Layout");
    const files = sourceFiles(service);
    assert.deepEqual([...brokenFloors(floors, files), ...circlesOf(files)], []);
    const present = new Set(files.map(({ path }) => path.split("/", 1)[0]));
    assert.deepEqual(
      [...floors.keys()].filter((name) => !present.has(name)),
      [],
      "named, not there",
    );
  });

test("an import upwards, an import aside, a folder without a place and a circle are faults", () => {
  const floors = declaredFloors(
    "# x\n\n## Layout\n\n1. `main.ts`, `config.ts`: start\n2. `calls/`: a\n3. `core/`: b\n\n## Next\n\n4. `no/`: not\n",
  );
  assert.deepEqual(
    [...(floors ?? [])],
    [
      ["main.ts", 1],
      ["config.ts", 1],
      ["calls", 2],
      ["core", 3],
    ],
  );
  const files = [
    readImports("main.ts", 'import { a } from "./calls/a.ts";\nimport "./config.ts";'),
    readImports("config.ts", 'const x = await import("./core/c.ts");'),
    readImports("calls/a.ts", 'import {\n  c,\n} from "../core/c.ts";'),
    readImports(
      "core/c.ts",
      'export { d } from "./d.ts";\nimport type { A } from "../calls/a.ts";',
    ),
    readImports("core/d.ts", 'import type { C } from "./c.ts";'),
    readImports("other/o.ts", ""),
  ];
  assert.deepEqual(brokenFloors(floors ?? new Map(), files), [
    "main.ts imports config.ts: config.ts does not stand below main.ts",
    "core/c.ts imports calls/a.ts: calls does not stand below core",
    "other/o.ts: other is not in the list of the README",
  ]);
  assert.deepEqual(circlesOf(files), ["in a circle: calls/a.ts, core/c.ts, core/d.ts"]);
});

function nameOf(path: string): string {
  return path.split("/")[1] ?? path;
}

function sourceFiles(service: string): SourceFile[] {
  const cwd = join(root, "services", service, "src");
  return globSync("**/*.ts", { cwd })
    .filter((path) => !/\.test(suite)?\.ts$/.test(path))
    .map((path) => readImports(path, readFileSync(join(cwd, path), "utf8")));
}
