/** Advice for failures of the file system, by the system's error code. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: "check the name and the directory that the command runs in",
  EACCES: "check who owns it and who may use it: ls -ld",
  EPERM: "check who owns it and who may use it: ls -ld",
  EROFS: "this file system is read-only; choose another place",
  EISDIR: "name a file; this is a directory",
  ENOTDIR: "a part of the path is a file; name a directory",
  EEXIST: "a file of this name is in the way; choose another name",
  ENOSPC: "the disk is full; make room",
  EMFILE: "too many files are open; raise the limit: ulimit -n",
};

export interface FileFailure {
  /** `file_missing`, or `file_refused` for everything else. */
  readonly code: "file_missing" | "file_refused";
  readonly message: string;
  readonly hint: string;
}

/** Describes a file or directory that could not be used; null when `error` is about none. */
export function fileFailure(error: unknown): FileFailure | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  const { code } = error;
  // Reading a directory as a file fails at the first byte, and that error names no path.
  const path = "path" in error ? error.path : code === "EISDIR" ? "what was named" : null;
  if (typeof code !== "string" || typeof path !== "string") return null;
  const hint = Object.hasOwn(ADVICE, code) ? ADVICE[code] : undefined;
  // A program that cannot be started has a path, too, but is not a file failure.
  if (hint === undefined || ("syscall" in error && String(error.syscall).startsWith("spawn"))) {
    return null;
  }
  // For a directory below a read-only one, Node.js reports that the directory to be made does not exist.
  if (code === "ENOENT" && "syscall" in error && error.syscall === "mkdir")
    return {
      code: "file_refused",
      message: `the folder ${path} cannot be made`,
      hint: "the place is read-only; choose another one, or make it writable",
    };
  return code === "ENOENT"
    ? { code: "file_missing", message: `there is no ${path}`, hint }
    : { code: "file_refused", message: `${path} cannot be used (${code})`, hint };
}
