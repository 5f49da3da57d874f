import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { repository } from "./settings.ts";

/** Returns the lines of the code blocks below a section's or subsection's heading of a page in docs, in their order. Throws when there is no such heading. */
export async function commandsBelow(page: string, heading: string): Promise<string[][]> {
  const text = await readFile(join(repository, "docs", page), "utf8");
  const level = ["##", "###"].find((marks) => text.includes(`\n${marks} ${heading}\n`));
  if (level === undefined) throw new Error(`docs/${page} has no heading "${heading}"`);
  const [, after = ""] = text.split(`\n${level} ${heading}\n`);
  const [section = ""] = after.split(level === "##" ? /\n## / : /\n###? /);
  return [...section.matchAll(/^```\w*\n([^]*?)^```$/gm)].map(([, block = ""]) =>
    block.replaceAll("\\\n", " ").trim().split("\n"),
  );
}
