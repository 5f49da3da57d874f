import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));
const PLACES = [
  "*.md",
  "{docs,decisions,deploy,examples,bench}/**/*.md",
  "test/chaos/*.md",
  "{apps,libs,services}/*/*.md",
];

export interface Document {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
  /** The text without its fenced blocks. */
  readonly prose: string;
  /** The lines inside fenced blocks. */
  readonly code: readonly string[];
}

const FENCE = /^ *```.*\n([\s\S]*?)^ *```/gm;

/** Every Markdown file of the repository but those that are data of tests. */
export function markdownFiles(): Document[] {
  return globSync(PLACES, { cwd: root }).map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return {
      path,
      text,
      prose: text.replaceAll(FENCE, ""),
      code: [...text.matchAll(FENCE)].flatMap(([, block = ""]) => block.split("\n")),
    };
  });
}
