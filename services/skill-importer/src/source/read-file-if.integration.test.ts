import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { readFileIf } from "./read-file-if.ts";

const directory = await testDirectory();

test("reads every byte of a file whose size is accepted, and nothing of another", async () => {
  for (const size of [0, 1, 70_000]) {
    const path = join(directory, `of-${size}`);
    const bytes = randomBytes(size);
    await writeFile(path, bytes);
    const sizes: number[] = [];
    const read = await readFileIf(path, (sizeBytes) => sizes.push(sizeBytes) > 0);
    assert.deepEqual([read && Buffer.from(read), sizes], [bytes, [size]]);
    assert.equal(await readFileIf(path, (sizeBytes) => sizeBytes > size), null);
  }
});

test("rejects with the system's code for what cannot be opened or read", async () => {
  await assert.rejects(
    readFileIf(join(directory, "none"), () => true),
    { code: "ENOENT" },
  );
  await assert.rejects(
    readFileIf(directory, () => true),
    { code: "EISDIR" },
  );
});
