/** The longest beginning of a text that has at most `limitBytes` bytes of UTF-8 and no broken character. */
export function cutText(text: string, limitBytes: number): string {
  // A UTF-16 unit is at most three bytes, so short texts need no encoding.
  if (text.length * 3 <= limitBytes) return text;
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= limitBytes) return text;
  let end = limitBytes;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.toString("utf8", 0, end);
}

/** Cuts a text and says how much is missing, so that neither a model nor a person takes the part for the whole. */
export function cutWithNote(text: string, limitBytes: number): string {
  const cut = cutText(text, limitBytes);
  if (cut === text) return text;
  const missing = Buffer.byteLength(text) - Buffer.byteLength(cut);
  return `${cut}\n[cut: ${missing} more bytes are not shown]`;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}
