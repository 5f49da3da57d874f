import { basename, dirname, join } from "node:path";
import { errorFinding, type Finding } from "../finding.ts";
import { fileTooLarge, MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import { LEGACY_FILE, LEGACY_PROMPT } from "../skill/legacy-skill.ts";
import type { Package } from "./package.ts";
import { readFileIf } from "./read-file-if.ts";
import { codeOf, directoryNameOf, type Candidate } from "./scan-directory.ts";
import { readSupportingFiles } from "./supporting-files.ts";

/**
 * Reads the files of a candidate, below a root or a part of it. `alone`: only the files that it cannot be parsed without. An
 * unreadable file is an error among the findings.
 */
export async function readCandidate(
  root: string,
  candidate: Candidate,
  { alone = false }: { alone?: boolean } = {},
): Promise<Package> {
  const { kind, file, path } = candidate;
  const directoryName = directoryNameOf(candidate, root);
  const realDirectory = dirname(path);
  const content = await contentOf(candidate);
  const isRead = content instanceof Uint8Array;
  const pkg = { kind, directoryName, realDirectory, findings: isRead ? [] : [content] };
  if (kind === "agent") {
    const files = new Map(isRead ? [[file, content]] : []);
    return { ...pkg, directory: ".", mainFile: file, files };
  }
  const mainFile = basename(file);
  const directory = dirname(file);
  if (!isRead) return { ...pkg, directory, mainFile, files: new Map() };
  const beside = alone
    ? { files: await promptOf(realDirectory, mainFile), findings: [] }
    : await readSupportingFiles(realDirectory, {
        isRoot: realDirectory === root,
        skillFile: mainFile,
        entries: candidate.beside,
      });
  const files = new Map([[mainFile, content], ...beside.files]);
  return { ...pkg, directory, mainFile, files, findings: beside.findings };
}

/** The bytes of a file, or why they cannot be had. */
async function contentOf(candidate: Candidate): Promise<Uint8Array | Finding> {
  if (candidate.problem !== null) return candidate.problem;
  try {
    let sizeBytes = 0;
    const bytes = await readFileIf(candidate.path, (size) => {
      sizeBytes = size;
      return size <= MAX_FILE_BYTES;
    });
    return bytes ?? fileTooLarge(sizeBytes);
  } catch (error) {
    return errorFinding("unreadable_file", `the file cannot be read: ${codeOf(error)}`);
  }
}

/** A `prompt.md` that cannot be had counts as missing. */
async function promptOf(
  directory: string,
  mainFile: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  if (mainFile !== LEGACY_FILE) return new Map();
  const path = join(directory, LEGACY_PROMPT);
  const text = await readFileIf(path, (size) => size <= MAX_FILE_BYTES).catch(() => null);
  return new Map(text === null ? [] : [[LEGACY_PROMPT, text]]);
}
