import assert from "node:assert/strict";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileFailure } from "../file-failure.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { makeWritable } from "./init.ts";

test("a project made from read-only templates can be changed by its owner", async () => {
  const root = join(tempDirectory(), "project");
  const file = join(root, "skills/greet/SKILL.md");
  mkdirSync(join(root, "skills/greet"), { recursive: true });
  writeFileSync(file, "x");
  const places = [file, join(root, "skills/greet"), join(root, "skills"), root];
  for (const place of places) chmodSync(place, statSync(place).mode & 0o555);
  await makeWritable(root, ["skills/greet/SKILL.md"]);
  for (const place of places) assert.equal(statSync(place).mode & 0o200, 0o200, place);
});

test("a folder that cannot be made below a read-only one is reported as such", () => {
  const error = Object.assign(new Error("no"), { code: "ENOENT", syscall: "mkdir", path: "/ro/p" });
  assert.deepEqual(fileFailure(error), {
    code: "file_refused",
    message: "the folder /ro/p cannot be made",
    hint: "the place is read-only; choose another one, or make it writable",
  });
});
