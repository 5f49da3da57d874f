import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Null when compression does not make the file smaller. */
  readonly packed: Uint8Array<ArrayBuffer> | null;
}

/** The built console, by path below the gateway's address. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};
const pack = promisify(gzip);

/**
 * Reads the whole build into memory, a few hundred kilobytes: the served files then stay the same until the process ends, also
 * while another build replaces the folder. Rejects when the folder has no index.html.
 */
export async function readConsole(directory: string): Promise<ConsoleFiles> {
  const files = new Map<string, ConsoleFile>();
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const file = join(entry.parentPath, entry.name);
    const bytes = new Uint8Array(await readFile(file));
    const packed = new Uint8Array(await pack(bytes));
    const path = `/${relative(directory, file).replaceAll("\\", "/")}`;
    files.set(path, { type, bytes, packed: packed.length < bytes.length ? packed : null });
  }
  if (!files.has("/index.html"))
    throw new Error(`${directory} has no index.html: it is not a build of the console`);
  return files;
}
