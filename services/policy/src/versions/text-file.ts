import { open } from "node:fs/promises";
import { MAX_FILE_BYTES } from "@switchyard/service/yaml-file";

/** The result of reading a file: its text, or why there is none. */
export type TextFile =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "missing"; readonly why: string }
  | { readonly kind: "unreadable"; readonly why: string };

export function isSameFile(a: TextFile, b: TextFile): boolean {
  if (a.kind === "text") return b.kind === "text" && a.text === b.text;
  return b.kind !== "text" && a.why === b.why;
}

/** Reads a whole file of at most {@link MAX_FILE_BYTES}, as UTF-8. */
export async function readTextFile(path: string): Promise<TextFile> {
  try {
    const bytes = await readBounded(path);
    if (bytes === null) return { kind: "unreadable", why: "is not a regular file" };
    if (bytes.length > MAX_FILE_BYTES) {
      return { kind: "unreadable", why: `is larger than ${MAX_FILE_BYTES} bytes` };
    }
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof TypeError) return { kind: "unreadable", why: "is not valid UTF-8" };
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const kind = code === "ENOENT" ? "missing" : "unreadable";
    return { kind, why: `cannot be read (${code})` };
  }
}

/** At most one byte more than a bundle may have; null for a directory, pipe or device. */
async function readBounded(path: string): Promise<Buffer | null> {
  await using file = await open(path, "r");
  if (!(await file.stat()).isFile()) return null;
  const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
