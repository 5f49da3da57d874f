import { withoutEscapes } from "./ciphers.ts";
import { shellOutput } from "./shell-output.ts";

/** The variables of a file with constant values. */
export type Constants = ReadonlyMap<string, string>;

const MAX_LENGTH = 8 * 1024;
const MAX_DEPTH = 4;
/** Characters that have a meaning for a shell. */
const EXPANDED = /[\\'"`$^%{]/;
/** A text that stays one word without its quotes. */
const ONE_WORD = /^[\w./:@%+,~^=?&#-]*$/;
const BLANK = /^\$(?:IFS(?:\$\d|\b)|\{IFS[^}]{0,12}\})/;
/** An expansion to an empty text in the middle of a word: `cu$@rl`, `cu${x}rl`. */
const NOTHING = /^\$(?:[@*#!-]|\d|\{[\w@*]{1,30}\}|\(\s{0,4}\))(?=[a-z])/i;
const VARIABLE = /^\$(?:\{!?([A-Za-z_]\w{0,60})([^}\n]{0,120})\}|([A-Za-z_]\w{0,60}))/;
const BRACES = /^\{([^{}\s"'`]{0,200},[^{}\s"'`]{0,200})\}/;

/**
 * Expands a command as a shell does: quotes, escapes, variables, braces and substitutions of constants are resolved. Unknown
 * parts stay as written, and so do quotes that hold several words together.
 */
export function expandShell(command: string, constants: Constants, depth = 0): string {
  if (depth > MAX_DEPTH || !EXPANDED.test(command)) return command;
  const isWindows = command.includes("\\") && WINDOWS.test(command);
  let out = "";
  for (let at = 0; at < command.length && out.length < MAX_LENGTH;) {
    const part = partAt(command, at, { constants, depth, isWindows, before: out.at(-1) ?? "" });
    out += part.text;
    at += part.length;
  }
  return out.length < MAX_LENGTH ? out : out + command.slice(out.length);
}

interface Part {
  readonly text: string;
  /** The length of the source that it replaces. */
  readonly length: number;
}

function partAt(
  command: string,
  at: number,
  given: { constants: Constants; depth: number; isWindows: boolean; before: string },
): Part {
  const { constants, depth, isWindows, before } = given;
  const one = command[at] ?? "";
  if (one === "\\") return isWindows ? { text: one, length: 1 } : escaped(command, at);
  if (one === "'" || one === '"') return quoted(command, at, { constants, depth });
  if (one === "`") return substitution(command, at, { constants, depth, opens: 1, close: "`" });
  if (one === "^" && /[a-z]/i.test(before) && /[a-z]/i.test(command[at + 1] ?? ""))
    return { text: "", length: 1 };
  if (one === "%") return ofBatchFile(command.slice(at, at + 64), constants);
  if (one === "{" && BRACES.test(command.slice(at, at + 500))) return braces(command, at, before);
  if (one !== "$") return { text: one, length: 1 };
  const rest = command.slice(at, at + 300);
  const blank = BLANK.exec(rest);
  if (blank !== null) return { text: " ", length: blank[0].length };
  if (rest.startsWith("$'")) return ansiQuoted(command, at);
  if (rest.startsWith('$"')) return { text: "", length: 1 };
  if (rest.startsWith("$((")) return { text: "$((", length: 3 };
  if (/^\$\(\s*\)/.test(rest)) return { text: "", length: rest.indexOf(")") + 1 };
  if (rest.startsWith("$("))
    return substitution(command, at, { constants, depth, opens: 2, close: ")" });
  const variable = VARIABLE.exec(rest);
  const value = variable === null ? null : valueOf(variable, constants);
  if (variable !== null && value !== null) return { text: value, length: variable[0].length };
  const nothing = /[a-z]/i.test(before) ? NOTHING.exec(rest) : null;
  if (nothing !== null) return { text: "", length: nothing[0].length };
  return variable === null
    ? { text: "$", length: 1 }
    : { text: variable[0], length: variable[0].length };
}

/** There a backslash separates. */
const WINDOWS = /%\w+%|\b[A-Z]:\\|\.(?:exe|bat|cmd|ps1|dll|msi)\b/;

/** `%name%` */
function ofBatchFile(rest: string, constants: Constants): Part {
  const [written = "%", name = ""] = /^%(\w{1,60})%/.exec(rest) ?? [];
  const value = constants.get(name);
  return value === undefined ? { text: "%", length: 1 } : { text: value, length: written.length };
}

function escaped(command: string, at: number): Part {
  const next = command[at + 1] ?? "";
  if (next === "\n") return { text: "", length: 2 };
  return /[a-z0-9./:~-]/i.test(next) ? { text: next, length: 2 } : { text: `\\${next}`, length: 2 };
}

function quoted(command: string, at: number, given: { constants: Constants; depth: number }): Part {
  const mark = command[at] ?? "";
  const end = endOfQuotes(command, at + 1, mark);
  if (end < 0) return { text: mark, length: 1 };
  const inner = command.slice(at + 1, end);
  // A command in quotes is expanded when it is run later.
  const text = inner.includes("\n") ? inner : expandShell(inner, given.constants, given.depth + 1);
  const isWord = ONE_WORD.test(text);
  return { text: isWord ? text : `${mark}${text}${mark}`, length: end + 1 - at };
}

function ansiQuoted(command: string, at: number): Part {
  const end = command.indexOf("'", at + 2);
  if (end < 0) return { text: "$'", length: 2 };
  return { text: withoutEscapes(command.slice(at + 2, end)), length: end + 1 - at };
}

function endOfQuotes(command: string, from: number, mark: string): number {
  for (let at = from; at < command.length; at += 1) {
    if (command[at] === "\\" && mark === '"') at += 1;
    else if (command[at] === mark) return at;
  }
  return -1;
}

/** Expands `$(…)` to its output, if that is constant; otherwise to the expanded command in it. */
function substitution(
  command: string,
  at: number,
  given: { constants: Constants; depth: number; opens: number; close: string },
): Part {
  const { constants, depth, opens, close } = given;
  const end = close === "`" ? command.indexOf("`", at + 1) : closing(command, at + opens);
  if (end < 0) return { text: command.slice(at, at + opens), length: opens };
  const inner = expandShell(command.slice(at + opens, end), constants, depth + 1);
  const printed = shellOutput(inner);
  const text = printed ?? `${command.slice(at, at + opens)}${inner}${close}`;
  return { text, length: end + 1 - at };
}

function closing(command: string, from: number): number {
  let depth = 1;
  for (let at = from; at < command.length && at < from + 2_000; at += 1) {
    if (command[at] === "(") depth += 1;
    if (command[at] === ")") depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** `{curl,-s,x}` are three words, `cu{r,}l` is two. */
function braces(command: string, at: number, before: string): Part {
  const match = BRACES.exec(command.slice(at, at + 500));
  const words = (match?.[1] ?? "").split(",").slice(0, 32);
  const isAlone = before === "" || /[\s;|&(`]/.test(before);
  return { text: isAlone ? words.join(" ") : (words[0] ?? ""), length: match?.[0].length ?? 1 };
}

/** Returns null when the variable's value or its form is unknown. */
function valueOf(variable: RegExpExecArray, constants: Constants): string | null {
  const [written, braced, operation = "", plain] = variable;
  const named = constants.get(braced ?? plain ?? "");
  const value = written.startsWith("${!") && named !== undefined ? constants.get(named) : named;
  if (value === undefined)
    return /^:?[-=]/.test(operation) ? operation.replace(/^:?[-=]/, "") : null;
  if (operation === "" || /^:?[-=+?]/.test(operation)) return value;
  return changed(value, operation);
}

function changed(value: string, operation: string): string | null {
  const [, from, length] = /^:\s?(-?\d{1,4})(?::(-?\d{1,4}))?$/.exec(operation) ?? [];
  if (from !== undefined) {
    const start = Number(from) < 0 ? Math.max(0, value.length + Number(from)) : Number(from);
    if (length === undefined) return value.slice(start);
    return value.slice(start, Number(length) < 0 ? Number(length) : start + Number(length));
  }
  const [, all, old, fresh = ""] = /^\/(\/?)([^/]{1,40})(?:\/(.{0,40}))?$/.exec(operation) ?? [];
  if (old !== undefined) {
    return all === "/" ? value.replaceAll(old, fresh) : value.replace(old, fresh);
  }
  if (operation === "^^") return value.toUpperCase();
  if (operation === ",,") return value.toLowerCase();
  const [, cut, affix] = /^(##?|%%?)([\w./:-]{1,40})$/.exec(operation) ?? [];
  if (affix === undefined) return operation === "[@]" || operation === "[*]" ? value : null;
  if (cut?.startsWith("#") === true)
    return value.startsWith(affix) ? value.slice(affix.length) : value;
  return value.endsWith(affix) ? value.slice(0, -affix.length) : value;
}
