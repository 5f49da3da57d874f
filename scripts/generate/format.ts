import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const oxfmt = fileURLToPath(new URL("../../node_modules/.bin/oxfmt", import.meta.url));

/** Formats a text as the repository's formatter would, so that generated files pass its check. */
export function format(fileName: string, text: string): string {
  return execFileSync(oxfmt, [`--stdin-filepath=${fileName}`], {
    input: text,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
}
