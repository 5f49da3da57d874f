import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { originUrlOf, readGitOrigin } from "./git-origin.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

async function checkout(files: Readonly<Record<string, string>>): Promise<string> {
  const top = await testDirectory();
  await mkdir(join(top, ".git/refs/heads"), { recursive: true });
  await mkdir(join(top, "a/b"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(top, ".git", name), text);
  return top;
}

const config = (url: string) => `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n`;

test("reads the remote and the commit of the checkout around a directory", async () => {
  const top = await checkout({
    HEAD: "ref: refs/heads/main\n",
    "refs/heads/main": `${COMMIT}\n`,
    config: config("https://example.com/team/skills.git"),
  });
  assert.deepEqual(await readGitOrigin(join(top, "a/b"), top), {
    url: "https://example.com/team/skills.git",
    commit: COMMIT,
  });
  assert.equal(await readGitOrigin(join(top, "a/b"), join(top, "a")), null, "not above the top");
});

test("finds a packed reference and a detached head", async () => {
  const packed = await checkout({
    HEAD: "ref: refs/heads/main",
    "packed-refs": `# pack-refs with: peeled\n${COMMIT} refs/heads/main\n`,
  });
  assert.deepEqual(await readGitOrigin(packed, packed), { url: null, commit: COMMIT });
  const detached = await checkout({ HEAD: COMMIT });
  assert.equal((await readGitOrigin(detached, detached))?.commit, COMMIT);
});

test("believes no reference that leads elsewhere, and no commit that is none", async () => {
  for (const HEAD of ["ref: refs/../../../etc/passwd", "ref: /etc/passwd", "secret text"]) {
    const top = await checkout({ HEAD });
    assert.equal((await readGitOrigin(top, top))?.commit, null, HEAD);
  }
});

test("shows a remote without user, password, query and fragment", () => {
  const shown = (url: string) => originUrlOf(config(url));
  assert.equal(shown("https://me:secret@example.com/x.git?token=1#y"), "https://example.com/x.git");
  assert.equal(shown("git@example.com:team/x.git"), "example.com:team/x.git");
  assert.equal(shown("ssh://git@example.com:22/x"), "ssh://example.com:22/x");
  assert.equal(shown("/home/me/x"), null);
  assert.equal(shown("file:///home/me/x"), null);
  assert.equal(originUrlOf("[remote]\n\turl = https://example.com/x"), null);
});
