export interface SplitArguments {
  readonly words: readonly string[];
  /** True when a quotation mark had no partner; it was taken as a character like any other. */
  readonly hasOpenQuote: boolean;
}

/**
 * Splits a line into words by the shell's quoting rules: `'…'` is literal, `"…"` supports `\"` and `\\`, outside of quotes `\`
 * escapes the next character. Nothing is expanded and nothing is rejected.
 */
export function splitArguments(line: string): SplitArguments {
  const words: string[] = [];
  let word: string | null = null;
  let hasOpenQuote = false;
  let at = 0;
  while (at < line.length) {
    const character = line[at] ?? "";
    if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
      at += 1;
      continue;
    }
    const piece = readPiece(line, at);
    hasOpenQuote ||= piece.isOpenQuote;
    word = (word ?? "") + piece.text;
    at = piece.end;
  }
  if (word !== null) words.push(word);
  return { words, hasOpenQuote };
}

interface Piece {
  readonly text: string;
  readonly end: number;
  readonly isOpenQuote: boolean;
}

function readPiece(line: string, at: number): Piece {
  const character = line[at] ?? "";
  if (character === "\\" && at + 1 < line.length) {
    return { text: line[at + 1] ?? "", end: at + 2, isOpenQuote: false };
  }
  if (character !== "'" && character !== '"') {
    return { text: character, end: at + 1, isOpenQuote: false };
  }
  const close = character === "'" ? line.indexOf("'", at + 1) : closingDoubleQuote(line, at + 1);
  if (close < 0) return { text: character, end: at + 1, isOpenQuote: true };
  const inside = line.slice(at + 1, close);
  const text = character === "'" ? inside : inside.replaceAll(/\\(["\\])/g, "$1");
  return { text, end: close + 1, isOpenQuote: false };
}

function closingDoubleQuote(line: string, from: number): number {
  for (let at = from; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (line[at] === '"') return at;
  }
  return -1;
}
