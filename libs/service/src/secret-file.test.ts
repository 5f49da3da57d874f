import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readSecretFile } from "./secret-file.ts";

let directory = "";
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "yard-secret-"));
});
after(() => rm(directory, { recursive: true }));

test("returns the secret without the white space around it", async () => {
  const path = join(directory, "seed");
  await writeFile(path, "  s3cret\n");
  assert.equal(await readSecretFile(path, "YARD_X_FILE"), "s3cret");
});

test("names the variable and the path of a file that is missing or empty", async () => {
  const missing = join(directory, "missing");
  await assert.rejects(readSecretFile(missing, "YARD_X_FILE"), {
    name: "StartError",
    message: `YARD_X_FILE: cannot read ${missing} (ENOENT)`,
  });
  const empty = join(directory, "empty");
  await writeFile(empty, "\n");
  await assert.rejects(readSecretFile(empty, "YARD_X_FILE"), {
    message: `YARD_X_FILE: ${empty} is empty`,
  });
});
