import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../test-fixtures/temp-directory.ts";
import { readOptional } from "./read-optional.ts";

test("a file that is not there is null, and nothing else is [D30, D63]", async () => {
  const directory = tempDirectory();
  writeFileSync(join(directory, "empty"), "");
  writeFileSync(join(directory, "text"), "a\nü\n");
  assert.equal(await readOptional(join(directory, "text")), "a\nü\n");
  assert.equal(await readOptional(join(directory, "empty")), "");
  assert.equal(await readOptional(join(directory, "missing")), null);
  assert.equal(await readOptional(join(directory, "no-directory", "file")), null);
  await assert.rejects(readOptional(directory), { code: "EISDIR" });
  await assert.rejects(readOptional(join(directory, "text", "file")), { code: "ENOTDIR" });
});
