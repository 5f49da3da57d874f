import { expandShell } from "./expand-shell.ts";
import { foldConstants } from "./fold-constants.ts";

const MAX_CONSTANTS = 500;
const MAX_VALUE = 4_096;
const SHELL =
  /(?:^|[\s;&|({])(?:export\s+|local\s+|readonly\s+|declare\s+(?:-\w+\s+)?|typeset\s+|set\s+["']?)?([A-Za-z_]\w{0,60})(\+?)=(\((?:[^()\n]{0,400})\)|(?:"(?:[^"\\\n]|\\.){0,4000}"|\$?'[^'\n]{0,4000}'|\$\([^)\n]{0,400}\)|`[^`\n]{0,400}`|[^\s;|&"'`()<>])+)/g;
const READ =
  /\bread\s+(?:-\w+\s+)?([A-Za-z_]\w{0,60})\s*<<<\s*("[^"\n]{0,400}"|'[^'\n]{0,400}'|\S{1,400})|\bprintf\s+-v\s+([A-Za-z_]\w{0,60})\s+([^;|&\n]{1,400})/g;

/** Remembers the variables that a shell line sets to constants, and forgets those that it sets to anything else. */
export function learnShell(line: string, constants: Map<string, string>): void {
  if (!line.includes("=") && !line.includes("read ") && !line.includes("printf -v")) return;
  for (const [, name = "", plus, written = ""] of line.matchAll(SHELL)) {
    if (written.startsWith("(")) learnArray(name, written.slice(1, -1), constants);
    else
      remember(name, expandShell(written, constants).replaceAll(/^(["'])([^]*)\1$/g, "$2"), {
        plus,
        constants,
      });
  }
  for (const [, name, value, printed, format] of line.matchAll(READ)) {
    const text = name === undefined ? `$(printf ${format ?? ""})` : (value ?? "");
    remember(
      name ?? printed ?? "",
      expandShell(text, constants).replaceAll(/^(["'])([^]*)\1$/g, "$2"),
      { constants },
    );
  }
}

function learnArray(name: string, written: string, constants: Map<string, string>): void {
  const items = expandShell(written, constants)
    .split(/\s+/)
    .filter((item) => item !== "");
  for (const [index, item] of items.slice(0, 64).entries())
    constants.set(`${name}[${index}]`, item);
  remember(name, items.join(" "), { constants });
}

const CODE =
  /^\s*(?:(?:export|const|let|var|my|our|local|static|global|final|private|public|string)\s+){0,3}\$?([A-Za-z_]\w{0,60})\s*(?::\s?\w{1,20}\s*)?([+.]?)=(?![=>~])\s*(.{1,4000}?);?\s*$/;

/** The same of a line of a program. */
export function learnCode(line: string, constants: Map<string, string>): void {
  const [, name = "", plus, written = ""] = line.includes("=") ? (CODE.exec(line) ?? []) : [];
  if (name === "") return;
  const folded = foldConstants(written, constants).trim();
  const [, , value] = /^[brfu]{0,2}(["'`])([^"'`\n]*)\1$/.exec(folded) ?? [];
  remember(name, value ?? "$", { plus, constants });
}

function remember(
  name: string,
  value: string,
  { plus = "", constants }: { plus?: string | undefined; constants: Map<string, string> },
): void {
  const whole = plus === "" ? value : `${constants.get(name) ?? ""}${value}`;
  const isConstant = !/[$`]/.test(whole) && whole.length <= MAX_VALUE && name !== "";
  if (isConstant && (constants.size < MAX_CONSTANTS || constants.has(name)))
    constants.set(name, whole);
  else constants.delete(name);
}
