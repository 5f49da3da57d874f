/** A file as a browser gives it, with its path in the folder that was picked. */
interface PickedFile extends Blob {
  readonly name: string;
  readonly webkitRelativePath: string;
}

/** Skills as one archive. */
export interface PackedSkills {
  readonly format: "zip" | "tar" | "tar.gz";
  readonly bytes: Blob;
}

/** `yard skills import` skips the same paths. */
const PASSED_OVER = /(?:^|\/)(?:\.|node_modules\/)/;

/** The archive that was picked, or one of the files that were; null where none of them is a skill's. */
export async function packedSkillsOf(files: readonly PickedFile[]): Promise<PackedSkills | null> {
  const [file] = files;
  const format = files.length === 1 && file !== undefined ? formatOf(file.name) : null;
  if (format !== null && file !== undefined) return { format, bytes: file };
  const found = files
    .map((one) => ({ one, path: one.webkitRelativePath || one.name }))
    .filter(({ path }) => !PASSED_OVER.test(path));
  if (!found.some(({ path }) => /(?:^|\/)skills?\.md$/i.test(path))) return null;
  const parts = found.flatMap(({ one, path }) => tarEntry(path, one));
  return { format: "tar", bytes: new Blob([...parts, new Uint8Array(2 * BLOCK)]) };
}

const BLOCK = 512;
const NAME_BYTES = 100;

/** A file in the format of tar; a name that its header has no room for precedes it in an entry of its own, as GNU tar writes it. */
function tarEntry(path: string, content: Blob, type = "0"): (Blob | Uint8Array<ArrayBuffer>)[] {
  const name = new TextEncoder().encode(path);
  const before = name.length > NAME_BYTES ? tarEntry("././@LongLink", new Blob([name]), "L") : [];
  const header = new Uint8Array(BLOCK);
  header.set(name.subarray(0, NAME_BYTES));
  const put = (at: number, text: string): void => header.set(new TextEncoder().encode(text), at);
  put(100, "0000644\0");
  put(124, `${content.size.toString(8).padStart(11, "0")}\0`);
  // The checksum counts its own field as spaces.
  put(148, `        ${type}`);
  put(257, "ustar\x0000");
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0`);
  return [...before, header, content, new Uint8Array(-content.size & (BLOCK - 1))];
}

function formatOf(fileName: string): PackedSkills["format"] | null {
  const name = fileName.toLowerCase();
  if (name.endsWith(".zip")) return "zip";
  if (name.endsWith(".tar")) return "tar";
  return /\.(?:tgz|tar\.gz)$/.test(name) ? "tar.gz" : null;
}
