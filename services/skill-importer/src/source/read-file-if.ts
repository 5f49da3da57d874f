import { close, fstat, open, read } from "node:fs";

/**
 * The bytes of a file, or null where its size is not accepted; nothing is read then. An import reads thousands of small
 * files, and by file handles and promises each takes twice the time.
 */
export function readFileIf(
  path: string,
  accepts: (sizeBytes: number) => boolean,
): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    open(path, (problem, file) => {
      if (problem !== null) return reject(problem);
      const end = (error: Error | null, bytes: Uint8Array | null): void => {
        close(file, () => (error === null ? resolve(bytes) : reject(error)));
      };
      fstat(file, (error, stats) => {
        if (error !== null) return end(error, null);
        if (!accepts(stats.size)) return end(null, null);
        fill(file, { bytes: new Uint8Array(stats.size), filled: 0 }, end);
      });
    });
  });
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
