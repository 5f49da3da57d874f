import type { ScannedText } from "../scanned-text.ts";

/** A line with its continuation lines. */
export interface LogicalLine {
  readonly text: string;
  readonly kind: "shell" | "code" | "text";
  /** 1-based line of the file that it begins on. */
  readonly origin: number;
}

const SHELL_FENCES = new Set([
  "",
  "sh",
  "bash",
  "shell",
  "zsh",
  "console",
  "terminal",
  "shellsession",
  "shell-session",
  "bat",
  "cmd",
  "batch",
  "dos",
  "dockerfile",
  "makefile",
  "text",
  "txt",
  "plaintext",
  "fish",
  "ksh",
]);
const SHELL_FILES =
  /(?:\.(?:sh|bash|zsh|ksh|fish|bat|cmd|command|env|txt|cfg|conf|service|yml|yaml|toml|ini|mk)|(?:^|\/)(?:Dockerfile|Makefile|Procfile|\w+rc))$/i;
const MAX_JOINED = 12;

/** The lines of a text; one that ends in a backslash, a backtick or a caret continues on the next one. */
export function logicalLines(text: ScannedText): LogicalLine[] {
  const lines: LogicalLine[] = [];
  const isPlainCode = text.kind !== "markdown";
  const fileKind = isShellFile(text) ? "shell" : "code";
  for (let index = 0; index < text.lineCount; index += 1) {
    const origin = index + 1;
    const kind = isPlainCode ? fileKind : kindAt(text, index);
    let joined = text.lineAt(index);
    const mostJoined = kind === "text" ? 0 : MAX_JOINED;
    for (let more = 0; more < mostJoined && continues(joined, kind); more += 1) {
      index += 1;
      if (index >= text.lineCount) break;
      joined = joinedWith(joined, text.lineAt(index));
    }
    lines.push({ text: joined, kind, origin });
  }
  return lines;
}

function isShellFile({ file, text }: ScannedText): boolean {
  if (text.startsWith("#!")) return /^#!.{0,60}\b(?:ba|z|da|k|fi)?sh\b/.test(text);
  return SHELL_FILES.test(file) || !/\.\w{1,8}$/.test(file);
}

function kindAt(text: ScannedText, index: number): LogicalLine["kind"] {
  const { fence, isCode } = text.contextAt(index);
  if (fence !== null) return SHELL_FENCES.has(fence) ? "shell" : "code";
  return isCode ||
    /^\s*>?\s*(?:\$ |sudo |curl |wget |bash |sh |python3? |node |eval |echo )/.test(
      text.lineAt(index),
    )
    ? "shell"
    : "text";
}

function continues(line: string, kind: LogicalLine["kind"]): boolean {
  return /\\\s?$/.test(line) || (kind === "shell" ? line.endsWith("^") : /[ \w]`$/.test(line));
}

/** Joins without a blank, as a shell does, unless the next line is indented. */
function joinedWith(line: string, next: string): string {
  return line.replace(/[\\^`]\s?$/, "") + (/^\s/.test(next) ? ` ${next.trimStart()}` : next);
}
