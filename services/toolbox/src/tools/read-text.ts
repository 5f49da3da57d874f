import type { FileHandle } from "node:fs/promises";
import { ToolError } from "../tool-error.ts";

/** Throws ToolError when the bytes are not text. */
export function decodeText(bytes: Uint8Array, path: string): string {
  if (bytes.includes(0))
    throw new ToolError(`'${path}' is a binary file; only text can be read with this tool.`);
  return Buffer.from(bytes).toString("utf8");
}

/** Up to `length` bytes from a position; fewer at the end of the file. */
export async function readBytes(
  file: FileHandle,
  { position, length }: { position: number; length: number },
): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
