/** A token of Cedar or Dogwood with its position. The text of a string is without its quotes and with its escapes. */
export interface Token {
  readonly kind: "name" | "string" | "number" | "sign" | "end";
  readonly text: string;
  readonly line: number;
}

/** A text that is not Cedar or Dogwood. */
export class CedarSyntaxError extends Error {
  override readonly name = "CedarSyntaxError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

const PARTS =
  /(?<skip>\s+|\/\/[^\n]*)|(?<name>[A-Za-z_]\w*)|(?<number>\d+)|"(?<string>(?:[^"\\]|\\[^])*)"|(?<sign>::|==|!=|<=|>=|&&|\|\||[-+*@(){}[\],;:.!<>?$=])/uy;

/** Splits a text into tokens, with an `end` token at its end. */
export function cedarTokens(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = new RegExp(PARTS);
  let line = 1;
  while (pattern.lastIndex < text.length) {
    const start = pattern.lastIndex;
    const found = pattern.exec(text)?.groups;
    if (found === undefined)
      throw new CedarSyntaxError(line, `unexpected character ${JSON.stringify(text[start])}`);
    for (const kind of ["name", "number", "string", "sign"] as const) {
      const part = found[kind];
      if (part !== undefined) tokens.push({ kind, text: part, line });
    }
    line += text.slice(start, pattern.lastIndex).split("\n").length - 1;
  }
  return [...tokens, { kind: "end", text: "the end of the file", line }];
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  "0": "\0",
  "\\": "\\",
  "'": "'",
  '"': '"',
};
const ESCAPE = /\\(?:u\{(?<code>[0-9A-Fa-f]{1,6})\}|x(?<byte>[0-7][0-9A-Fa-f])|(?<one>[^]))/gu;

/** Resolves the escapes of a string; null when one of them is not of Cedar. */
export function unescaped(text: string): string | null {
  let isSound = true;
  const resolved = text.replaceAll(ESCAPE, (...found) => {
    const { code, byte, one } = found.at(-1) as Readonly<Record<string, string | undefined>>; // the groups
    const point = Number.parseInt(code ?? byte ?? "", 16);
    if (code !== undefined || byte !== undefined) {
      if (point <= 0x10_ff_ff) return String.fromCodePoint(point);
      isSound = false;
      return "";
    }
    const plain = ESCAPES[one ?? ""];
    if (plain === undefined) isSound = false;
    return plain ?? "";
  });
  return isSound ? resolved : null;
}

/** The literal parts of a pattern of `like`, between its asterisks; null when an escape is not of Cedar. */
export function likeParts(text: string): string[] | null {
  const parts = text
    .split(/(?<=(?:^|[^\\])(?:\\\\)*)\*/u)
    .map((part) => unescaped(part.replaceAll(/(?<=(?:^|[^\\])(?:\\\\)*)\\\*/gu, "*")));
  return parts.includes(null) ? null : parts.filter((part) => part !== null);
}
