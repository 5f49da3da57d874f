import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdir, realpath, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { readFileIf } from "./read-file-if.ts";

const directory = await realpath(await testDirectory());

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

test("rejects with the system's code for a file that cannot be opened or read", async () => {
  await assert.rejects(
    readFileIf(join(directory, "none"), () => true),
    { code: "ENOENT" },
  );
  await assert.rejects(
    readFileIf(directory, () => true),
    { code: "EISDIR" },
  );
});

test("reads nothing through a link that was inserted in the meantime, and waits for no pipe", async () => {
  const [inside, outside] = [join(directory, "inside"), join(directory, "outside")];
  await Promise.all([mkdir(inside), mkdir(outside)]);
  await writeFile(join(inside, "file.md"), "harmless");
  await writeFile(join(outside, "file.md"), "secret");
  await rename(inside, join(directory, "away"));
  await symlink(outside, inside);
  await assert.rejects(
    readFileIf(join(inside, "file.md"), () => true),
    /a link was put on its way/,
  );
  await symlink(join(outside, "file.md"), join(directory, "link.md"));
  await assert.rejects(
    readFileIf(join(directory, "link.md"), () => true),
    { code: "ELOOP" },
  );
  execFileSync("mkfifo", [join(directory, "pipe")]);
  await assert.rejects(
    readFileIf(join(directory, "pipe"), () => true),
    /not a regular file/,
  );
});
