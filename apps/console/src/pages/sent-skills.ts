import type { SentFile, SentSkill } from "@switchyard/client/operations";

/** A file as a browser gives it, with its path in the folder that was picked. */
interface PickedFile {
  readonly name: string;
  readonly webkitRelativePath: string;
  arrayBuffer(): Promise<ArrayBuffer>;
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
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return { path, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    let binary = "";
    for (const byte of bytes) binary += String.fromCodePoint(byte);
    return { path, base64: btoa(binary) };
  }
}
