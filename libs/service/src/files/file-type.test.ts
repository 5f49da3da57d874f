import assert from "node:assert/strict";
import { test } from "node:test";
import { fileTypeOf, MAX_PIXELS, shownTypeOf } from "./file-type.ts";

const bytes = (...parts: (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string, "latin1")));
const png = (width: number, height: number): Buffer => {
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([bytes("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"), size]);
};
const jpeg = bytes("\xff\xd8\xff\xe0", [0, 4, 1, 1], "\xff\xc0", [0, 11, 8, 0, 2, 0, 3, 1]);
const gif = bytes("GIF89a", [2, 0, 3, 0]);
const webp = bytes("RIFF\0\0\0\0WEBPVP8X", [10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0]);

const typeOf = (given: Buffer, declared?: string): string => {
  const type = fileTypeOf(given, declared);
  return "problem" in type ? `refused: ${type.problem}` : type.mediaType;
};

test("a file is of the type that its first bytes show, whatever was declared", () => {
  const rows: [Buffer, string][] = [
    [png(1, 1), "image/png"],
    [jpeg, "image/jpeg"],
    [gif, "image/gif"],
    [webp, "image/webp"],
    [bytes("%PDF-1.7\n"), "application/pdf"],
    [bytes("RIFF\0\0\0\0WAVEfmt "), "audio/wav"],
    [bytes("OggS\0"), "audio/ogg"],
    [bytes("fLaC\0"), "audio/flac"],
    [bytes("ID3\x04"), "audio/mpeg"],
    [bytes("\xff\xfb\x90"), "audio/mpeg"],
  ];
  for (const [given, shown] of rows)
    for (const declared of [undefined, "text/plain", "image/png", "application/octet-stream"])
      assert.equal(typeOf(given, declared), shown);
});

test("a text is of the text type that was declared, and plain otherwise", () => {
  const text = Buffer.from("Grüße, 世界\n");
  assert.equal(typeOf(text), "text/plain");
  assert.equal(typeOf(text, "text/markdown; charset=utf-8"), "text/markdown");
  assert.equal(typeOf(text, "APPLICATION/JSON"), "application/json");
  assert.equal(typeOf(text, "application/octet-stream"), "text/plain");
});

test("text declared as an image, sound or archive is refused, as are other bytes and no bytes", () => {
  const page = Buffer.from("<html>404</html>");
  for (const declared of ["image/png", "audio/wav", "application/pdf", "application/zip"])
    assert.match(typeOf(page, declared), /^refused: its bytes are not those of/);
  for (const other of [
    bytes("PK\x03\x04"),
    bytes("\x1f\x8b\x08"),
    bytes("a\0b"),
    bytes("\xff\xfea\0"),
  ])
    assert.match(typeOf(other, "text/plain"), /^refused: its bytes are of no accepted type/);
  assert.equal(typeOf(Buffer.alloc(0), "text/plain"), "refused: it is empty");
});

test("an image of too many pixels, and one whose header does not state how many, are refused by the header alone", () => {
  const side = Math.sqrt(MAX_PIXELS);
  assert.equal(typeOf(png(side, side)), "image/png");
  assert.match(typeOf(png(side, side + 1)), /^refused: it has \d+ pixels/);
  assert.match(typeOf(png(0xffffffff, 0xffffffff)), /^refused: it has \d+ pixels/);
  for (const damaged of [
    png(0, 1),
    bytes("\x89PNG\r\n\x1a\n"),
    jpeg.subarray(0, 10),
    gif.subarray(0, 8),
  ])
    assert.match(typeOf(damaged), /^refused: its header as image\//);
});

test("the header of a JPEG is read in linear time, and never beyond its end", () => {
  const fill = Buffer.alloc(1024 ** 2, 0xff);
  assert.match(typeOf(Buffer.concat([bytes("\xff\xd8"), fill])), /^refused/);
  const segments = Buffer.concat([
    bytes("\xff\xd8"),
    ...Array.from({ length: 1_000 }, () => bytes("\xff\xe0", [0, 0])),
  ]);
  assert.match(typeOf(segments), /^refused/);
});

test("a file that is only named has the type of its bytes, also where no model could read it", () => {
  assert.equal(shownTypeOf(png(0xffffffff, 0xffffffff), "text/plain"), "image/png");
  assert.equal(shownTypeOf(bytes("a,b"), "text/csv"), "text/csv");
  assert.equal(shownTypeOf(bytes("<svg/>"), "image/png"), "text/plain");
  assert.equal(shownTypeOf(bytes("PK\x03\x04"), "text/plain"), "application/octet-stream");
});
