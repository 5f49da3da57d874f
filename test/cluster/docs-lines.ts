import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { repository } from "./settings.ts";

/** The lines of the code blocks below a heading of a page in docs, in their order. Throws when there is no such heading. */
export async function commandsBelow(page: string, heading: string): Promise<string[][]> {
  const text = await readFile(join(repository, "docs", page), "utf8");
  const [, after] = text.split(`\n## ${heading}\n`);
  if (after === undefined) throw new Error(`docs/${page} has no heading "${heading}"`);
  const [section = ""] = after.split("\n## ");
  return [...section.matchAll(/^```\w*\n([^]*?)^```$/gm)].map(([, block = ""]) =>
    block.replaceAll("\\\n", " ").trim().split("\n"),
  );
}
