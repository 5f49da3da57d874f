import { ToolError } from "../tool-error.ts";

/** Characters that a shell interprets, and that a plain command line must not contain outside quotes. */
const OPERATORS = new Set(";|&<>()`$*?[]{}#~!\n\r");

/**
 * Splits a command line into words as a POSIX shell does, without a shell: blanks separate, single quotes keep every character,
 * double quotes and backslashes keep the next character. Throws ToolError for syntax that requires a shell, so that a rule about
 * how a command begins is a rule about the one program that runs.
 */
export function commandWords(command: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let at = 0;
  const take = (text: string): void => {
    word = (word ?? "") + text;
  };
  while (at < command.length) {
    const character = command.charAt(at);
    if (character === " " || character === "\t") {
      if (word !== null) words.push(word);
      word = null;
      at += 1;
    } else if (character === "'" || character === '"') {
      const end = quoteEnd(command, at);
      take(unquoted(command.slice(at + 1, end), character));
      at = end + 1;
    } else if (character === "\\") {
      if (at + 1 === command.length) throw new ToolError("The command ends in a backslash.");
      take(command.charAt(at + 1));
      at += 2;
    } else if (OPERATORS.has(character)) {
      throw needsShell(character);
    } else {
      take(character);
      at += 1;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

function quoteEnd(command: string, start: number): number {
  const quote = command.charAt(start);
  for (let at = start + 1; at < command.length; at += 1) {
    const character = command.charAt(at);
    if (character === quote) return at;
    if (quote === '"' && character === "\\") at += 1;
    else if (quote === '"' && (character === "$" || character === "`")) throw needsShell(character);
  }
  throw new ToolError(`The command has a quote ${quote} without an end.`);
}

/** In double quotes a backslash escapes a character that would end or change the quoted text; elsewhere it is an ordinary character. */
function unquoted(text: string, quote: string): string {
  return quote === "'" ? text : text.replaceAll(/\\(["\\$`])/g, "$1");
}

function needsShell(character: string): ToolError {
  return new ToolError(
    `The command uses ${JSON.stringify(character)}, which only a shell understands; quote it if it is meant as text, or set shell to true.`,
  );
}
