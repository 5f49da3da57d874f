import type { SentFile, SentSkill } from "@switchyard/client/operations";

/** A file as a browser gives it, with its path in the folder that was picked. */
interface PickedFile {
  readonly name: string;
  readonly webkitRelativePath: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Skills packed into one file, which are imported as a whole. */
export interface SentArchive {
  readonly format: "zip" | "tar" | "tar.gz";
  readonly base64: string;
}

/** The one file that was picked, where it is an archive. */
export async function sentArchiveOf(files: readonly PickedFile[]): Promise<SentArchive | null> {
  const [file] = files;
  if (file === undefined || files.length > 1) return null;
  const name = file.name.toLowerCase();
  const format = name.endsWith(".zip")
    ? "zip"
    : name.endsWith(".tar")
      ? "tar"
      : /\.(tgz|tar\.gz)$/.test(name)
        ? "tar.gz"
        : null;
  return format === null ? null : { format, base64: base64Of(await bytesOf(file)) };
}

/** The folders with a SKILL.md among the files, each with what is below it. */
export async function sentSkillsOf(files: readonly PickedFile[]): Promise<SentSkill[]> {
  const paths = files.map((file) => ({ file, path: file.webkitRelativePath || file.name }));
  const directories = paths
    .filter(({ path }) => /(^|\/)SKILL\.md$/i.test(path))
    .map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf("/"))))
    .toSorted();
  return Promise.all(
    directories.map(async (directory) => ({
      directory: directory === "" ? "skill" : directory,
      files: await Promise.all(
        paths
          .filter(({ path }) => isBelow(path, directory))
          .map(({ file, path }) =>
            sentFile(file, directory === "" ? path : path.slice(directory.length + 1)),
          ),
      ),
    })),
  );
}

function isBelow(path: string, directory: string): boolean {
  return directory === "" || path.startsWith(`${directory}/`);
}

async function sentFile(file: PickedFile, path: string): Promise<SentFile> {
  const bytes = await bytesOf(file);
  try {
    return { path, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { path, base64: base64Of(bytes) };
  }
}

async function bytesOf(file: PickedFile): Promise<Uint8Array> {
  return new Uint8Array(await file.arrayBuffer());
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCodePoint(byte);
  return btoa(binary);
}
