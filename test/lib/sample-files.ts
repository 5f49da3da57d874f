/** The smallest files of their kinds: one pixel, one page without content, and eight samples of silence. */
export const samplePng = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export const samplePdf = Buffer.from(
  "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n",
);

export const sampleWav = Buffer.concat([
  Buffer.from("RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1"),
  Buffer.from([0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0]),
  Buffer.from("data\x08\0\0\0", "latin1"),
  Buffer.alloc(8, 0x80),
]);
