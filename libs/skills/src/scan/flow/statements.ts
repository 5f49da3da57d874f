import { logicalLines } from "../plain/logical-lines.ts";
import type { ScannedText } from "../scanned-text.ts";

/** A command or an expression, with its continuation. */
export interface Statement {
  readonly text: string;
  readonly kind: "shell" | "code";
  readonly file: string;
  /** 1-based, of the file. */
  readonly line: number;
  /** Markdown's code blocks are independent: a directory change in one does not affect another. */
  readonly block: number;
  /** The function that it is in, or defines. */
  scope: string | null;
}

const MAX_LENGTH = 4_000;
const MAX_JOINED = 24;
/** A sentence with a command in it. */
const NAMES_COMMAND =
  /\b(?:curl|wget|nc|ncat|scp|rsync|bash|sh|iwr|irm|iex|powershell|python3?|npx|npm|pip3?|git clone|eval|certutil|mshta|tar|cat)\b|\/dev\/tcp\//i;

/** All statements of a text, in its order. */
export function statementsOf(text: ScannedText): Statement[] {
  const found: Statement[] = [];
  const lines = logicalLines(text);
  let block = 0;
  for (let index = 0; index < lines.length; index += 1) {
    const { text: written, kind, origin } = lines[index] ?? { text: "", kind: "text", origin: 1 };
    const { line } = text.positionAt(text.startOf(origin - 1));
    const add = (part: string, partKind: Statement["kind"]) =>
      found.push({
        text: part.slice(0, MAX_LENGTH),
        kind: partKind,
        file: text.file,
        line,
        block,
        scope: null,
      });
    if (kind === "text") {
      block += written.trim() === "" ? 0 : 1;
      for (const code of spansIn(written))
        for (const command of commandsOf(code)) add(command, "shell");
      continue;
    }
    let whole = written;
    const end =
      kind === "shell" ? /<<-?\s{0,2}["']?([A-Za-z_]\w{0,30})["']?/.exec(written)?.[1] : undefined;
    for (let joined = 0; joined < MAX_JOINED && whole.length < MAX_LENGTH; joined += 1) {
      const next = lines[index + 1];
      if (
        next === undefined ||
        next.kind !== kind ||
        !goesOn(whole, { kind, end, next: next.text })
      )
        break;
      whole += end === undefined && kind === "code" ? ` ${next.text.trim()}` : `\n${next.text}`;
      index += 1;
    }
    if (kind === "code") add(whole, "code");
    else if (end !== undefined) add(whole, "shell");
    else for (const command of commandsOf(whole)) add(command, "shell");
  }
  return found;
}

function spansIn(line: string): string[] {
  const spans = Array.from(line.matchAll(/`([^`\n]{4,2000})`/g), (match) => match[1] ?? "");
  return NAMES_COMMAND.test(line) && !/`.*(?:curl|wget|sh).*`/.test(line)
    ? [...spans, line]
    : spans;
}

function goesOn(
  whole: string,
  given: { kind: string; end: string | undefined; next: string },
): boolean {
  if (given.end !== undefined)
    return !whole
      .split("\n")
      .slice(1)
      .some((line) => line.trim() === given.end);
  if (given.kind === "shell")
    return /(?:\||&&|\|\|)\s{0,4}$/.test(whole) || /^\s*\|/.test(given.next);
  return isOpen(whole) || /^\s*\.\w/.test(given.next) || /[\s](?:&&|\|\||\+|\.)\s*$/.test(whole);
}

/** A bracket is open, outside of texts. */
function isOpen(written: string): boolean {
  let depth = 0;
  let quote = "";
  for (let at = 0; at < written.length; at += 1) {
    const one = written[at] ?? "";
    if (one === "\\") at += 1;
    else if (quote !== "") quote = one === quote ? "" : quote;
    else if (one === '"' || one === "'" || one === "`") quote = one;
    else if (one === "(" || one === "[") depth += 1;
    else if (one === ")" || one === "]") depth -= 1;
  }
  return depth > 0;
}

/** Splits a list of commands at `;`, `&&`, `||`, `&` and line ends, outside of quotes and substitutions. */
export function commandsOf(list: string): string[] {
  const commands: string[] = [];
  let start = 0;
  let quote = "";
  let depth = 0;
  for (let at = 0; at < list.length; at += 1) {
    const one = list[at] ?? "";
    if (one === "\\") at += 1;
    else if (quote !== "") quote = one === quote ? "" : quote;
    else if (one === '"' || one === "'" || one === "`")
      quote = list.indexOf(one, at + 1) > 0 ? one : "";
    else if (one === "(") depth += 1;
    else if (one === ")") depth = Math.max(0, depth - 1);
    else if (depth > 0) continue;
    else {
      const isPair = list.startsWith("&&", at) || list.startsWith("||", at);
      const isEnd =
        one === ";" ||
        one === "\n" ||
        (one === "&" && !/[>&<]/.test(`${list[at - 1] ?? ""}${list[at + 1] ?? ""}`));
      if (!isPair && !isEnd) continue;
      commands.push(list.slice(start, at));
      at += isPair ? 1 : 0;
      start = at + 1;
    }
  }
  commands.push(list.slice(start));
  return commands.map((command) => command.trim()).filter((command) => command !== "");
}
