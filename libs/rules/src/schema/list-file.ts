import { z } from "zod";

/** The lists of a whole policy. */
export const MAX_LISTS = 16;
const MAX_ENTRIES = 20_000;
const MAX_ENTRY_LENGTH = 4_096;

/** The name of a list beside the rules. */
export const ListName = z
  .string({ error: "must be the name of a file, such as accounts.txt" })
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\.txt$/,
    "must be the name of a file beside the rules that ends in .txt, without directories",
  );

/** True for a list, by the name of its file. */
export function isListFile(name: string): boolean {
  return name.endsWith(".txt");
}

/** The names of the lists that a policy text may use, so that they are read with it; which of them it does use is known once it is parsed. */
export function listNamesIn(text: string): string[] {
  if (!text.includes("inFile")) return [];
  const found = text.match(/(?<![\w.-])[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\.txt(?![\w.-])/g) ?? [];
  return [...new Set(found)].toSorted();
}

export interface ReadList {
  /** The different entries, sorted, so that their order and layout do not change the digest of the bundle. */
  readonly entries: readonly string[];
  readonly problem: { readonly line: number; readonly message: string } | null;
}

function problem(line: number, message: string): ReadList {
  return { entries: [], problem: { line, message } };
}

/** Reads a list: one text a line, without the blanks around it. Empty lines and those that begin with `#` are left out. */
export function readList(text: string): ReadList {
  const entries = new Set<string>();
  for (const [index, line] of text.split("\n").entries()) {
    const entry = line.trim().normalize("NFC");
    if (entry === "" || entry.startsWith("#")) continue;
    if (entry.length > MAX_ENTRY_LENGTH)
      return problem(
        index + 1,
        `has more than ${MAX_ENTRY_LENGTH.toLocaleString("en")} characters`,
      );
    entries.add(entry);
    if (entries.size > MAX_ENTRIES)
      return problem(
        index + 1,
        `the list has more than ${MAX_ENTRIES.toLocaleString("en")} entries`,
      );
  }
  // An empty list would be a rule that never matches, and most often a file that was cut off.
  if (entries.size === 0) return problem(1, "the list has no entry");
  return { entries: [...entries].toSorted(), problem: null };
}
