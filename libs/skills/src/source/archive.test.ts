import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { packTar, type TarEntry } from "modern-tar";
import { zipOf } from "../../test/zip-of.ts";
import { ArchiveError, ARCHIVE_LIMITS, unpackArchive, type ArchiveFormat } from "./archive.ts";

async function tarOf(entries: readonly TarEntry[]): Promise<Uint8Array> {
  return gzipSync(await packTar(entries));
}

const tarFile = (name: string, body: string): TarEntry => ({
  header: { name, size: Buffer.byteLength(body), type: "file" },
  body,
});

async function refusal(bytes: Uint8Array, format: ArchiveFormat): Promise<string> {
  try {
    await unpackArchive(bytes, format);
    return "accepted";
  } catch (error) {
    assert(error instanceof ArchiveError, String(error));
    return error.reason;
  }
}

async function unpacked(bytes: Uint8Array, format: ArchiveFormat) {
  const { files, findings } = await unpackArchive(bytes, format);
  return {
    files: [...files].map(([path, content]) => `${path}=${Buffer.from(content).toString()}`),
    codes: findings.map(({ code }) => code),
  };
}

test("unpacks a zip, a tar and a tar.gz to the same files", async () => {
  const files = [
    { name: "a/SKILL.md", content: "one" },
    { name: "a/scripts/run.sh", content: "two" },
  ];
  const expected = { files: ["a/SKILL.md=one", "a/scripts/run.sh=two"], codes: [] };
  assert.deepEqual(await unpacked(zipOf([{ name: "a/" }, ...files]), "zip"), expected);
  const tar = await packTar([
    { header: { name: "./a/", size: 0, type: "directory" } },
    ...files.map(({ name, content }) => tarFile(`./${name}`, content)),
  ]);
  assert.deepEqual(await unpacked(tar, "tar"), expected);
  assert.deepEqual(await unpacked(gzipSync(tar), "tar.gz"), expected);
});

const UNSAFE = {
  "../SKILL.md": "path_escape",
  "a/../../SKILL.md": "path_escape",
  "/etc/passwd": "path_absolute",
  "C:/x/SKILL.md": "path_drive",
  "a\\..\\SKILL.md": "path_backslash",
  "a/x\u202Edm": "path_characters",
  "a//b": "path_characters",
  [`${"d/".repeat(17)}SKILL.md`]: "path_too_deep",
  [`${"x".repeat(256)}/SKILL.md`]: "path_too_long",
};

for (const [name, reason] of Object.entries(UNSAFE)) {
  test(`refuses an archive that names ${JSON.stringify(name.slice(0, 30))}`, async () => {
    const good = { name: "a/SKILL.md", content: "x" };
    assert.equal(await refusal(zipOf([good, { name, content: "x" }]), "zip"), reason);
    const tar = await tarOf([tarFile("a/SKILL.md", "x"), tarFile(name, "x")]);
    assert.equal(await refusal(tar, "tar.gz"), reason);
  });
}

test("refuses a directory of such a name, too", async () => {
  assert.equal(await refusal(zipOf([{ name: "../a/" }]), "zip"), "path_escape");
  const tar = await tarOf([{ header: { name: "../a/", size: 0, type: "directory" } }]);
  assert.equal(await refusal(tar, "tar.gz"), "path_escape");
});

test("refuses a name that is there twice, of which programs unpack the first or the last", async () => {
  const names = ["a/SKILL.md", "a/SKILL.md"];
  assert.equal(await refusal(zipOf(names.map((name) => ({ name }))), "zip"), "path_twice");
  const tar = await tarOf(names.map((name) => tarFile(name, "x")));
  assert.equal(await refusal(tar, "tar.gz"), "path_twice");
});

test("skips links and devices, and reports them", async () => {
  const zip = zipOf([
    { name: "a/SKILL.md", content: "x" },
    { name: "a/link", content: "/etc/passwd", mode: 0o120777 },
    { name: "a/pipe", mode: 0o010644 },
  ]);
  const found = { files: ["a/SKILL.md=x"], codes: ["link_not_unpacked", "device_not_unpacked"] };
  assert.deepEqual(await unpacked(zip, "zip"), found);
  const tar = await tarOf([
    tarFile("a/SKILL.md", "x"),
    { header: { name: "a/soft", size: 0, type: "symlink", linkname: "/etc/passwd" } },
    { header: { name: "a/hard", size: 0, type: "link", linkname: "a/SKILL.md" } },
    { header: { name: "a/fifo", size: 0, type: "fifo" } },
    { header: { name: "a/disk", size: 0, type: "block-device" } },
  ]);
  assert.deepEqual(await unpacked(tar, "tar.gz"), {
    files: ["a/SKILL.md=x"],
    codes: ["link_not_unpacked", "link_not_unpacked", "device_not_unpacked", "device_not_unpacked"],
  });
});

test("refuses encrypted entries and unknown compression", async () => {
  assert.equal(await refusal(zipOf([{ name: "a", content: "x", flags: 1 }]), "zip"), "encrypted");
  const odd = zipOf([{ name: "a", content: "x", method: 99 }]);
  assert.equal(await refusal(odd, "zip"), "compression");
});

test("refuses bombs before they fill the memory", async () => {
  const zeros = Buffer.alloc(ARCHIVE_LIMITS.fileBytes);
  const many = Array.from({ length: 40 }, (_, index) => ({ name: `f${index}`, content: zeros }));
  assert.equal(await refusal(zipOf(many), "zip"), "ratio");
  const tar = await tarOf(
    many.map(({ name }) => ({ header: { name, size: zeros.length, type: "file" }, body: zeros })),
  );
  assert.equal(await refusal(tar, "tar.gz"), "ratio");
  const lying = zipOf([{ name: "f", content: Buffer.alloc(4_000_000), claimedBytes: 10 }]);
  assert.equal(await refusal(lying, "zip"), "damaged");
});

test("refuses too many entries, directories included", async () => {
  for (const end of ["", "/"]) {
    const entries = Array.from({ length: ARCHIVE_LIMITS.entries + 1 }, (_, index) => ({
      name: `f${index}${end}`,
      method: 0,
    }));
    assert.equal(await refusal(zipOf(entries), "zip"), "too_many_entries");
  }
});

test("refuses more bytes than fit, however honest the archive is", async () => {
  assert.equal(await refusal(Buffer.alloc(ARCHIVE_LIMITS.bytes + 1), "tar"), "too_large");
});

test("skips a file that is too large, and keeps the others", async () => {
  const large = Buffer.alloc(ARCHIVE_LIMITS.fileBytes + 1, "x");
  const zip = zipOf([
    { name: "big", content: large },
    { name: "small", content: "x" },
  ]);
  assert.deepEqual(await unpacked(zip, "zip"), { files: ["small=x"], codes: ["file_not_kept"] });
});

test("reports a damaged archive", async () => {
  const zip = zipOf([{ name: "a", content: "some text that is long enough" }]);
  const tar = await tarOf([tarFile("a", "some text")]);
  assert.equal(await refusal(zip.subarray(0, 40), "zip"), "damaged");
  assert.equal(await refusal(tar.subarray(0, 60), "tar.gz"), "damaged");
  assert.equal(await refusal(Buffer.from("no archive"), "zip"), "damaged");
  assert.equal(await refusal(Buffer.from("no archive"), "tar.gz"), "damaged");
});
