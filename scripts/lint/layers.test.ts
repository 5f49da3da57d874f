import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { forbiddenImport, LAYERS } from "./layers.ts";

const root = join(import.meta.dirname, "../..");
const names = Object.keys(LAYERS);

test("the table has every package of the repository", () => {
  const packages = globSync("{libs,services,apps}/*/package.json", { cwd: root });
  const folders = packages.map((path) => path.replace("/package.json", ""));
  assert.deepEqual(
    Object.values(LAYERS)
      .map(({ folder }) => folder)
      .toSorted(),
    folders.toSorted(),
  );
});

test("each import that the table does not have is refused, by the package's name and by a path, from a nested file too", () => {
  for (const own of names)
    for (const other of names.filter((name) => name !== own)) {
      const isAllowed = LAYERS[own]?.imports.includes(other) === true;
      const [from, to] = [LAYERS[own]?.folder ?? "", LAYERS[other]?.folder ?? ""];
      const file = "service";
      for (const [path, specifier] of [
        [`${from}/src/a.ts`, `@switchyard/${other}/${file}`],
        [`${from}/src/b/c/d.ts`, `@switchyard/${other}/deep/er/than/one`],
        [`${from}/src/b/c.ts`, `../../../../${to}/src/x.ts`],
      ] as const) {
        const isOfOnly = LAYERS[own]?.only?.[other] !== undefined;
        const expected = isAllowed && (!isOfOnly || specifier.endsWith(`/${file}`));
        assert.equal(forbiddenImport(path, specifier) === null, expected, `${path} ${specifier}`);
      }
    }
});

test("imports go down: each package stands below those that import it", () => {
  const order = names.map((name) => LAYERS[name]?.imports ?? []);
  order.forEach((imports, at) => {
    const below = new Set(names.slice(0, at));
    assert.deepEqual(
      imports.filter((name) => !below.has(name)),
      [],
      names[at],
    );
  });
});

test("each package declares what it may import of this repository, and what it does not use is not declared", () => {
  for (const [name, { folder, imports }] of Object.entries(LAYERS)) {
    const file = join(root, folder, "package.json");
    assert.ok(existsSync(file));
    const { dependencies = {} } = JSON.parse(readFileSync(file, "utf8"));
    const declared = Object.keys(dependencies)
      .filter((dependency) => dependency.startsWith("@switchyard/"))
      .map((dependency) => dependency.replace("@switchyard/", ""));
    assert.deepEqual(
      declared.filter((dependency) => !imports.includes(dependency)),
      [],
      name,
    );
  }
});

test("other packages and files of the same package are none of its business", () => {
  assert.equal(forbiddenImport("services/policy/src/a/b.ts", "../c.ts"), null);
  assert.equal(forbiddenImport("services/policy/src/a/b.ts", "zod"), null);
  assert.equal(forbiddenImport("test/e2e/a.ts", "@switchyard/policy/service"), null);
});
