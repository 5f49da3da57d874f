import type { Position } from "../../finding.ts";
import { ScannedText } from "../scanned-text.ts";
import { hiddenTexts } from "./hidden-texts.ts";
import { withPlainLinks } from "./defang.ts";
import { expandShell } from "./expand-shell.ts";
import { foldConstants } from "./fold-constants.ts";
import { learnCode, learnShell } from "./learn-constants.ts";
import { logicalLines, type LogicalLine } from "./logical-lines.ts";
import { shellOutput, stagesOf } from "./shell-output.ts";

/** A text as a machine interprets it: normalised where obfuscation hides commands from people or rules. */
export class PlainText extends ScannedText {
  /** 1-based lines of the file, for each line of this text. */
  readonly #origins: readonly number[];
  /** The first line on which a command only shows here. */
  readonly disguised: { readonly line: number; readonly text: string } | null;

  constructor(
    of: ScannedText,
    given: {
      lines: readonly { text: string; origin: number }[];
      disguised: PlainText["disguised"];
    },
  ) {
    super(of.file, of.kind, given.lines.map(({ text }) => text).join("\n"));
    this.#origins = given.lines.map(({ origin }) => origin);
    this.disguised = given.disguised;
  }

  override positionAt(offset: number): Position {
    const { line } = super.positionAt(offset);
    return { line: this.#origins[line - 1] ?? line, column: 1 };
  }
}

/** Signs that a line of prose is worth expanding. */
const SIGNS =
  /[a-z](?:''|""|\\[a-z]|\^[a-z])[a-z]|[a-z]['"][\w.:/]{1,12}['"][a-z]|\$\{?IFS|\$\((?:echo|printf)|\$[@*][a-z]|\$[a-z_]\w*\$|\}\$?\{|\{[a-z]{2,8},[^{}\s]{1,80}\}|<<<|\|\s?(?:rev|tr|xxd|base64)\b/i;

/** For each character that can hide another one, a test of its surroundings. */
const HIDERS: readonly (readonly [
  character: string,
  hides: (text: string, at: number) => boolean,
])[] = [
  ["'", inQuotes],
  ['"', inQuotes],
  [
    "\\",
    (text, at) =>
      /^(?:[a-z]\\\n?[a-z]|.?\\(?:x[\da-f]{2}\\|u00|[01]\d\d\\))/i.test(
        text.slice(Math.max(0, at - 1), at + 6),
      ),
  ],
  ["$", (text, at) => COMPUTED.test(text.slice(at, at + 40))],
  ["^", (text, at) => /^[a-z]\^[a-z]/i.test(text.slice(at - 1, at + 2))],
  ["%", (text, at) => /^%\w{1,20}%[%\w]/.test(text.slice(at, at + 24))],
  ["{", (text, at) => BRACED.test(text.slice(at, at + 60))],
  ["[", inBrackets],
  ["(", inBrackets],
];

/** True when something in a text is not written as a machine reads it. */
export function mayBeDisguised({ text }: ScannedText): boolean {
  return HIDERS.some(([character, hides]) => {
    for (let at = text.indexOf(character, 1); at >= 0; at = text.indexOf(character, at + 1)) {
      if (hides(text, at)) return true;
    }
    return false;
  });
}

/** `c''url`, `c"ur"l`, `"cu" + "rl"` */
function inQuotes(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (!isLetter(text.charCodeAt(at + 1))) {
    const isEmpty = text.charCodeAt(at + 1) === code && isLetter(text.charCodeAt(at + 2));
    return (isEmpty && isLetter(text.charCodeAt(at - 1))) || isJoint(text, at);
  }
  // An apostrophe has no partner in its word.
  return closesInWord(text, at, code) || (!isLetter(text.charCodeAt(at - 1)) && isJoint(text, at));
}

function inBrackets(text: string, at: number): boolean {
  return /^.\s?[.:]\s?[\])]/.test(text.slice(at, at + 5));
}

/** Matches a variable beside another one, in the middle of a word, or as a command. */
const COMPUTED =
  /^\$(?:'\\|\{!?\w+(?::\d|:\s-|#|%|\/|\^|,|\[)|\w+\$\w|\{\w+\}(?:\$|\{|[a-z])|[@*][a-z]|[a-z_]\w*[ \t]+["'$-]|\{\w+\}[ \t]+["'$-]|[a-z_]\w*[ \t]+\w+:)/i;
const BRACED = /^\{[a-z./:-]{1,16},[^{}\s"':]{1,40}[,}]/i;
const JOINED = /^["']\s{0,3}(?:[+.]|\.\.)\s{0,3}["']/;

function isLetter(code: number): boolean {
  return (code > 96 && code < 123) || (code > 64 && code < 91);
}

/** `c"ur"l` */
function closesInWord(text: string, at: number, code: number): boolean {
  for (let next = at + 1; next < at + 14; next += 1) {
    const one = text.charCodeAt(next);
    if (one === code) return isLetter(text.charCodeAt(next + 1));
    if (!isLetter(one)) return false;
  }
  return false;
}

/** `"cu" + "rl"` */
function isJoint(text: string, at: number): boolean {
  return JOINED.test(text.slice(at, at + 10)) && /[\w/:.]/.test(text[at - 1] ?? "");
}

/** Null where the text is plain already. Encoded texts are read where something `decodes` them. */
export function plainText(
  text: ScannedText,
  { decodes = true }: { decodes?: boolean } = {},
): PlainText | null {
  const lines = logicalLines(text);
  const constants = new Map<string, string>();
  // A function may use constants that are set below it.
  for (const line of lines.slice(0, MAX_LEARNED)) learn(line, constants);
  const known = new Map(constants);
  const written: { text: string; origin: number }[] = [];
  let disguised: PlainText["disguised"] = null;
  let isChanged = false;
  // A text that grows beyond this was made to cost time.
  let room = 2 * text.text.length + 64 * 1024;
  for (const [index, line] of lines.entries()) {
    if (index < MAX_LEARNED) learn(line, known);
    const plain = room < 0 ? line.text : plainLine(line, known);
    room -= plain.length;
    isChanged ||= plain !== line.text;
    written.push({ text: plain, origin: line.origin });
    const printed =
      line.kind === "text"
        ? []
        : [...outputs(plain), ...(plain === line.text ? [] : outputs(line.text))];
    const hidden = decodes ? [...new Set([...printed, ...hiddenIn(line, plain)])] : printed;
    for (const one of hidden.flatMap((each) => each.split("\n")).slice(0, MAX_HIDDEN)) {
      written.push({ text: foldConstants(expandShell(one, known), known), origin: line.origin });
      isChanged = true;
    }
    disguised ??= isDisguised(line.text, plain, hidden)
      ? { line: line.origin, text: hidden[0] ?? plain }
      : null;
  }
  return isChanged ? new PlainText(text, { lines: written, disguised }) : null;
}

const MAX_HIDDEN = 40;
const MAX_LEARNED = 4_000;

function hiddenIn({ kind, text }: LogicalLine, plain: string): string[] {
  const found = hiddenTexts(text);
  return kind === "text" || plain === text ? found : [...found, ...hiddenTexts(plain)];
}

function learn(line: LogicalLine, constants: Map<string, string>): void {
  if (line.kind === "shell") learnShell(line.text, constants);
  if (line.kind === "code") learnCode(line.text, constants);
}

function plainLine({ kind, text }: LogicalLine, constants: ReadonlyMap<string, string>): string {
  const linked = withPlainLinks(text);
  if (kind === "code") return foldConstants(linked, constants);
  if (kind === "shell") return foldConstants(expandShell(linked, constants), constants);
  // In prose only inline code is expanded, and lines that do not look like prose.
  const spans = linked.replaceAll(
    /`([^`\n]{4,2000})`/g,
    (_all, code: string) => `\`${foldConstants(expandShell(code, constants), constants)}\``,
  );
  const isBare = spans === linked && /[|;&$]|\b(?:curl|wget)\b/.test(text) && SIGNS.test(text);
  return isBare ? expandShell(linked, constants) : spans;
}

const INTERPRETER =
  /^\s*(?:sudo\s+)?(?:\/\S*\/)?(?:(?:ba|z|da|k)?sh|python[\d.]*|perl|node|ruby|php|pwsh|powershell|\$|"?\$|source|eval|xargs)/i;

const PRINTS = /echo|printf|cat|rev|base64|xxd|<<</;

/** Returns the text that a pipeline of constants hands to an interpreter. */
function outputs(line: string): string[] {
  if (!line.includes("|") || !PRINTS.test(line)) return [];
  const stages = stagesOf(line);
  const last = stages.findIndex((stage, index) => index > 0 && INTERPRETER.test(stage));
  if (last < 0) return [];
  const first = (stages[0] ?? "").replace(/^.*?(?=\b(?:echo|printf|cat|rev|base64|xxd)\b)/, "");
  const text = shellOutput([first, ...stages.slice(1, last)].join("|"));
  return text === null ? [] : [text];
}

const COMMANDS =
  /\b(?:curl|wget|bash|powershell|pwsh|python3?|netcat|ncat|iex|invoke-expression|base64|subprocess|child_process|execsync|urlopen|urllib|os\.system|eval|exec)\b/gi;

/** True when a line shows a command in plain writing only. */
function isDisguised(written: string, plain: string, hidden: readonly string[]): boolean {
  if (hidden.some((text) => text.match(COMMANDS) !== null)) return true;
  if (plain === written) return false;
  const before = written.toLowerCase();
  const found = plain.match(COMMANDS) ?? [];
  // A variable that holds a whole command is how scripts name their tools.
  return (
    found.some((word) => !before.includes(word.toLowerCase())) &&
    /['"\\^`{+.]|\$\(|<<<|\[::/.test(written) &&
    SPLIT.test(written)
  );
}

const SPLIT =
  /[a-z](?:''|""|\\|\^|`|['"][a-z]{1,12}['"]|\$\{?[@*\w]+\}?)[a-z]|["'][a-z.]{1,12}["']\s{0,3}[+.,]\s{0,3}["']|\{[a-z]+,|\$\{?IFS|\$\w+\$|\}\$?\{|\$\(|[a-z]\$|\}[a-z]|\[::|chr|char|join|\\x|\\[01]\d\d|rev|<<</i;
