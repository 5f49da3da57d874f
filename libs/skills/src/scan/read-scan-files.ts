import { isUtf8 } from "node:buffer";
import { extname } from "node:path";
import type { ScanFinding, ScanReport } from "@switchyard/contracts/skill-importer/skill-scan";
import { decodeLeniently, MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import { findingOf } from "./rule.ts";
import { ScannedText, type TextKind } from "./scanned-text.ts";

/** A file beside the skill's own, or that one itself. */
export interface ScanFile {
  /** Relative to the skill's directory, with `/`. */
  readonly path: string;
  readonly content: Uint8Array | string;
}

export interface ReadFiles {
  readonly texts: ScannedText[];
  readonly findings: ScanFinding[];
  readonly unscanned: ScanReport["unscanned"];
  readonly bytes: number;
}

const MAX_FILES = 500;
const MAX_BYTES = 8 * 1024 * 1024;
const MARKDOWN = new Set([".md", ".markdown", ".mdx", ".mdc"]);
const SCRIPTS = new Set(
  (
    ".sh .bash .zsh .py .js .mjs .cjs .ts .rb .pl .php .ps1 .psm1 .bat .cmd .lua .go .rs .swift " +
    ".applescript .scpt .vbs"
  ).split(" "),
);

/** The magic bytes of programs, which run and cannot be read. */
const PROGRAMS: readonly { readonly magic: string; readonly what: string }[] = [
  { magic: "7f454c46", what: "a Linux program" },
  { magic: "4d5a", what: "a Windows program" },
  { magic: "feedface", what: "a macOS program" },
  { magic: "feedfacf", what: "a macOS program" },
  { magic: "cffaedfe", what: "a macOS program" },
  { magic: "cefaedfe", what: "a macOS program" },
  { magic: "cafebabe", what: "a Java class or a macOS program" },
  { magic: "0061736d", what: "a WebAssembly program" },
];

/** Decodes files as text, and lists each file that cannot be scanned, in whole or in part, with the reason: that makes a scan partial. */
export function readScanFiles(files: readonly ScanFile[]): ReadFiles {
  const read: Omit<ReadFiles, "bytes"> = { texts: [], findings: [], unscanned: [] };
  let bytes = 0;
  for (const [index, file] of files.entries()) {
    if (index >= MAX_FILES) {
      const message = `${files.length - MAX_FILES} files beyond the first ${MAX_FILES} were not looked at`;
      read.unscanned.push({ file: file.path, code: "too_many_files", message });
      break;
    }
    const content = typeof file.content === "string" ? Buffer.from(file.content) : file.content;
    if (bytes + Math.min(content.length, MAX_FILE_BYTES) > MAX_BYTES) {
      const message = `this and ${files.length - index - 1} further files are beyond the limit of ${MAX_BYTES} bytes`;
      read.unscanned.push({ file: file.path, code: "too_many_bytes", message });
      break;
    }
    bytes += Math.min(content.length, MAX_FILE_BYTES);
    readOne(file.path, content, read);
  }
  return { ...read, bytes };
}

function readOne(path: string, content: Uint8Array, read: Omit<ReadFiles, "bytes">): void {
  const program = programOf(path, content);
  if (program !== null) read.findings.push(shippedProgram(path, program));
  if (isHidden(path)) read.findings.push(hiddenFile(path));
  const cut =
    content.length > MAX_FILE_BYTES
      ? wholeCharacters(content.subarray(0, MAX_FILE_BYTES))
      : content;
  const decoded = decodeLeniently(cut);
  if ("problem" in decoded) {
    const code = content.includes(0) || program !== null ? "binary_file" : "undecodable_text";
    read.unscanned.push({ file: path, code, message: decoded.problem.message });
    return;
  }
  // The file is decoded as the parser decodes it; bytes lost in decoding have not been scanned.
  if (decoded.note !== undefined) {
    read.unscanned.push({ file: path, code: "undecodable_text", message: decoded.note.message });
  }
  if (cut !== content) {
    const message = `only the first ${MAX_FILE_BYTES} of ${content.length} bytes were looked at`;
    read.unscanned.push({ file: path, code: "file_cut", message });
  }
  read.texts.push(new ScannedText(path, kindOf(path, decoded.text), decoded.text));
}

function kindOf(path: string, text: string): TextKind {
  const extension = extname(path).toLowerCase();
  if (MARKDOWN.has(extension)) return "markdown";
  return SCRIPTS.has(extension) || text.startsWith("#!") ? "script" : "data";
}

/** A cut may go through a character. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let dropped = 0; dropped < 4; dropped += 1) {
    const shorter = bytes.subarray(0, bytes.length - dropped);
    if (isUtf8(shorter)) return shorter;
  }
  return bytes;
}

function programOf(path: string, content: Uint8Array): string | null {
  if (/\.(?:pyc|pyo|jar|class|exe|dll|so|dylib|node|wasm|dmg|pkg|msi|scr)$/i.test(path)) {
    return "a compiled program";
  }
  const start = Buffer.from(content.subarray(0, 4)).toString("hex");
  const found = PROGRAMS.find(({ magic }) => start.startsWith(magic));
  return found !== undefined && content.subarray(0, 512).includes(0) ? found.what : null;
}

function isHidden(path: string): boolean {
  const ordinary =
    /^\.(?:gitignore|gitattributes|editorconfig|npmignore|clawhubignore|prettierrc|eslintrc|env\.example|github|keep|gitkeep)/;
  return path
    .split("/")
    .some((part) => part.startsWith(".") && part !== "." && !ordinary.test(part));
}

function shippedProgram(file: string, what: string): ScanFinding {
  return findingOf(file, {
    code: "shipped_program",
    owasp: "AST02",
    severity: "high",
    confidence: "high",
    message: `brings ${what}, which cannot be reviewed`,
    advice: "install it from its maker, by version and digest",
  });
}

function hiddenFile(file: string): ScanFinding {
  return findingOf(file, {
    code: "hidden_file",
    owasp: "AST02",
    severity: "low",
    confidence: "medium",
    message: "brings a file that a directory listing does not show",
    advice: "rename it, or leave it out",
  });
}
