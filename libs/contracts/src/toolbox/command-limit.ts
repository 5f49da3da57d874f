import { builtinToolRef, type ToolRef } from "../tool-names.ts";

/** The commands that a tool pattern lets pass, such as `execute_command(git add:*)`. */
export interface CommandLimit {
  /** The first words of the command. */
  readonly words: string;
  /** True: more words may follow. */
  readonly isPrefix: boolean;
}

const COMMAND = builtinToolRef("execute_command");
const LIMITED = /^execute_command\((.+)\)$/s;
/** Words without a special meaning: quotes, escapes and the signs of a shell would change what a prefix matches. */
const PLAIN_WORDS = /^[\w@%+=:,./-]+(?: [\w@%+=:,./-]+)*$/;
const MORE_WORDS = /(?::\*| \*)$/;

/**
 * The pattern for a limit as other clients write it in brackets behind the name of their shell tool: `git add:*` and
 * `git add *` are that command with any further words, without the star it is that very command. Null for a limit that is
 * more than the first words of a command.
 */
export function commandPattern(limit: string): string | null {
  const words = limit.replace(MORE_WORDS, "");
  if (!PLAIN_WORDS.test(words)) return null;
  return `${COMMAND.name}(${words}${words === limit ? "" : ":*"})`;
}

/** Reads a tool pattern that limits commands; null for any other. */
export function commandLimit(pattern: string): CommandLimit | null {
  const [, limit] = LIMITED.exec(pattern) ?? [];
  if (limit === undefined) return null;
  const words = limit.replace(MORE_WORDS, "");
  return PLAIN_WORDS.test(words) ? { words, isPrefix: words !== limit } : null;
}

/** True for the tool that such patterns are about. */
export function runsCommands(ref: ToolRef): boolean {
  return ref.server === null && ref.name === COMMAND.name && ref.tool === COMMAND.tool;
}

/**
 * True when the arguments of a call are within the limit. With a shell no first words limit what runs, so such a call never
 * is.
 */
export function fitsCommandLimit(
  { words, isPrefix }: CommandLimit,
  args: Readonly<Record<string, unknown>>,
): boolean {
  const { command, shell = false } = args;
  if (typeof command !== "string" || shell !== false) return false;
  return command === words || (isPrefix && command.startsWith(`${words} `));
}
