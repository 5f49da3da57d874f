import { isUntrusted, type Destination } from "../destinations.ts";
import type { Label } from "./sources-and-sinks.ts";

/** The label of a value, and its origin. */
export interface Taint {
  readonly label: Label;
  /** The source of a download. */
  readonly from?: Destination | undefined;
}

const MAX_NAMES = 2_000;
/** Each fact about a name's content is stored once. */
const keyOf = ({ label, from }: Taint) => `${label} ${from?.kind ?? ""}`;

/** The labels that the variables, functions and files of a skill hold. A variable belongs to one file; files are shared. */
export class Taints {
  readonly #held = new Map<string, Map<string, Taint>>();
  /** The names that gained a label since the list was last emptied. */
  readonly changed: string[] = [];
  /** The number of labels that all names hold; no name ever loses one. */
  size = 0;

  add(name: string, taints: readonly Taint[]): void {
    if (taints.length === 0 || name === "") return;
    const held = this.#held.get(name) ?? new Map<string, Taint>();
    if (held.size === 0 && this.#held.size >= MAX_NAMES) return;
    for (const taint of taints) {
      if (held.has(keyOf(taint))) continue;
      held.set(keyOf(taint), taint);
      this.size += 1;
      if (this.changed.at(-1) !== name) this.changed.push(name);
    }
    this.#held.set(name, held);
  }

  of(name: string): Taint[] {
    return [...(this.#held.get(name)?.values() ?? [])];
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }
}

export function joined(...parts: readonly (readonly Taint[])[]): Taint[] {
  const all = new Map(parts.flat().map((taint) => [keyOf(taint), taint]));
  return [...all.values()];
}

/** Returns labels for downloads from untrusted hosts. */
export function downloadsFrom(destinations: readonly Destination[]): Taint[] {
  return destinations.filter(isUntrusted).map((one) => ({ label: "download", from: one }));
}

/** The key of a variable, which belongs to a file. */
export function variableOf(file: string, name: string): string {
  return `$${name}\n${file}`;
}

/** Returns the key of the arguments of a shell function. */
export function givenTo(file: string, name: string): string {
  return `(${name}\n${file}`;
}

/** Keys of a script's arguments and of its output. */
export function argumentsOf(file: string): string {
  return `arguments ${baseOf(file)}`;
}

export function outputOf(file: string): string {
  return `output ${baseOf(file)}`;
}

/** Names of files that a statement mentions: the last part of each path. */
export function filesIn(text: string): string[] {
  const found = /[./\\]/.test(text) ? (text.match(FILE) ?? []) : [];
  return [...new Set(found.slice(0, 64).map((path) => baseOf(path)))].filter(
    (name) => name !== "" && !COMMON.has(name),
  );
}

export function baseOf(path: string): string {
  const bare = path.replace(/[?#].*$/, "").replace(/[/\\]+$/, "");
  return bare.slice(Math.max(bare.lastIndexOf("/"), bare.lastIndexOf("\\")) + 1);
}

/** A path, or a name with an extension. */
const FILE =
  /(?<![\w.$~{}%/\\-])(?:[\w.$~{}%-]{0,80}[/\\]){1,8}[\w.$%-]{1,80}|\b[\w-]{1,60}\.\w{1,8}\b/g;
const COMMON = new Set([
  "null",
  "stdin",
  "stdout",
  "stderr",
  "bash",
  "sh",
  "env",
  "zsh",
  "python3",
  "python",
  "node",
  "tmp",
  "bin",
  "www",
]);

/** A name that is used, and not a key, a member, or an argument's name. */
const NAME = /(?<![\w.])(?:\$\{?)?([A-Za-z_]\w{0,60})(?!\w|\s{0,2}=(?!=)|["']?\s?:(?!:))/g;

export function namesIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(NAME), (match) => match[1] ?? ""))];
}

/** The names of variables in a shell's command. */
export function variablesIn(text: string): string[] {
  return [
    ...new Set(
      Array.from(text.matchAll(/\$\{?!?([A-Za-z_]\w{0,60}|[\d@*])/g), (match) => match[1] ?? ""),
    ),
  ];
}
