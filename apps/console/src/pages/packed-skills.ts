import { packTar } from "modern-tar";

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
  const entries = await Promise.all(
    found.map(async ({ one, path }) => ({
      header: { name: path, size: one.size },
      body: new Uint8Array(await one.arrayBuffer()),
    })),
  );
  return { format: "tar", bytes: new Blob([await packTar(entries)]) };
}

function formatOf(fileName: string): PackedSkills["format"] | null {
  const name = fileName.toLowerCase();
  if (name.endsWith(".zip")) return "zip";
  if (name.endsWith(".tar")) return "tar";
  return /\.(?:tgz|tar\.gz)$/.test(name) ? "tar.gz" : null;
}
