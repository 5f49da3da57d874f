const MAX_PATH_BYTES = 512;
const MAX_PART_BYTES = 255;
const MAX_PARTS = 16;

/**
 * Returns, as a code, why an untrusted path cannot be the name of a file below a directory, or null. An accepted path has parts
 * of ordinary characters with `/` between them, and means the same file on every system. It is still only a key: no file is
 * written to disk.
 */
export function pathProblemOf(path: string): string | null {
  if (path === "") return "path_empty";
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return "path_too_long";
  if (path.includes("\\")) return "path_backslash";
  if (path.startsWith("/")) return "path_absolute";
  if (/^[A-Za-z]:/.test(path)) return "path_drive";
  // Control and format characters: the second kind can make two names look the same.
  if (/[\p{Cc}\p{Cf}\p{Cs}]/u.test(path)) return "path_characters";
  const parts = path.split("/");
  if (parts.includes("..")) return "path_escape";
  if (parts.some((part) => part === "" || part === ".")) return "path_characters";
  if (parts.some((part) => Buffer.byteLength(part) > MAX_PART_BYTES)) return "path_too_long";
  return parts.length > MAX_PARTS ? "path_too_deep" : null;
}

/** Two paths with one key are one file on systems that ignore case or compose characters. */
export function foldedPath(path: string): string {
  return path.normalize("NFKC").toLowerCase();
}
