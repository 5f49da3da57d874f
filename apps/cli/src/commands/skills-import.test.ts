import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { CliError } from "../cli-error.ts";
import { formatOf } from "./skills-import.ts";

/** A tar with one empty file, as POSIX has it. */
function tar(): Buffer {
  const header = Buffer.alloc(1_536);
  header.write("a/SKILL.md");
  header.write("0000644\0", 100);
  header.write("00000000000\0", 124);
  header.fill(" ", 148, 156);
  header.write("ustar\0", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

test("knows an archive by its bytes, and says of anything else that it is none", () => {
  assert.equal(formatOf(tar(), "it"), "tar");
  assert.equal(formatOf(Buffer.alloc(1_024), "it"), "tar");
  assert.equal(formatOf(gzipSync(tar()), "it"), "tar.gz");
  assert.equal(formatOf(Buffer.from("PK\u0003\u0004"), "it"), "zip");
  const xz = Buffer.concat([Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), Buffer.alloc(600, 7)]);
  for (const bytes of [Buffer.alloc(0), Buffer.from("# a skill\n"), xz, Buffer.alloc(600, 0x61)])
    assert.throws(
      () => formatOf(bytes, "it"),
      (error) => error instanceof CliError && error.code === "usage",
    );
});
