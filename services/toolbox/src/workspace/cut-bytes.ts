/**
 * The longest beginning of UTF-8 bytes that fits the limit and ends between two characters [ER9].
 * Bytes that are not UTF-8 are cut at the limit.
 */
export function cutBytes(bytes: Buffer, limit: number): Buffer {
  if (bytes.length <= limit) return bytes;
  let end = limit;
  // At most three bytes can follow the first one of a character.
  while (end > limit - 4 && end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.subarray(0, isContinuation(bytes[end]) ? limit : end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}
