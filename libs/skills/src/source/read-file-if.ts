import { close, constants, fstat, open, read, readlink } from "node:fs";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads a file, or returns null without reading when its size is not accepted. `path` is a real path: links were resolved and
 * checked when it was found, so a link that was inserted in the meantime is rejected, and so is a pipe. An import reads thousands
 * of small files, and file handles with promises take twice the time for each.
 */
export function readFileIf(
  path: string,
  accepts: (sizeBytes: number) => boolean,
): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, (problem, file) => {
      if (problem !== null) return reject(problem);
      const end = (error: Error | null, bytes: Uint8Array | null): void => {
        close(file, () => (error === null ? resolve(bytes) : reject(error)));
      };
      fstat(file, (error, stats) => {
        if (error !== null) return end(error, null);
        if (stats.isDirectory()) return end(refused("EISDIR", path), null);
        if (!stats.isFile()) return end(refused("not a regular file", path), null);
        if (!accepts(stats.size)) return end(null, null);
        isAt(path, file, (isThere) => {
          if (!isThere) return end(refused("a link was put on its way", path), null);
          fill(file, { bytes: new Uint8Array(stats.size), filled: 0 }, end);
        });
      });
    });
  });
}

/**
 * Checks whether the open file is the one at this very path. Linux reports its path; elsewhere a directory that is replaced by a
 * link between the check and the reading can mislead an import.
 */
function isAt(path: string, file: number, answer: (isThere: boolean) => void): void {
  if (process.platform !== "linux") return answer(true);
  readlink(`/proc/self/fd/${file}`, (error, real) => {
    // A file that was replaced meanwhile, as editors do, was there.
    answer(error === null && (real === path || real === `${path} (deleted)`));
  });
}

function refused(code: string, path: string): Error {
  return Object.assign(new Error(`${path}: ${code}`), { code });
}

/** Reads until the buffer is full or the file, which may have become shorter, ends. */
function fill(
  file: number,
  { bytes, filled }: { bytes: Uint8Array; filled: number },
  end: (error: Error | null, bytes: Uint8Array | null) => void,
): void {
  if (filled === bytes.length) return end(null, bytes);
  read(file, bytes, filled, bytes.length - filled, null, (error, count) => {
    if (error !== null) return end(error, null);
    if (count === 0) return end(null, bytes.subarray(0, filled));
    fill(file, { bytes, filled: filled + count }, end);
  });
}
