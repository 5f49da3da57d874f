import { isRestriction } from "../skill/restrictions.ts";
import type { YamlMapping, YamlValue } from "./safe-yaml.ts";

const KNOWN = new Set(["name", "description", "argument-hint"]);
const PAIR = /^["']?([A-Za-z][\w-]*)["']?:(?:[ \t]+(.*))?$/;

/**
 * The last resort for a frontmatter that is no YAML: takes name, description, argument hint and the
 * restrictions from lines at the margin. Everything else is left out, so nothing is granted by it. Null
 * when no such line is there.
 */
export function parseKnownLines(yaml: string): YamlMapping | null {
  const lines = yaml.split("\n");
  const values = Object.create(null) as YamlMapping; // nothing inherited, so no key can mean more than it says
  let count = 0;
  for (const [index, line] of lines.entries()) {
    const [, key = "", written = ""] = PAIR.exec(line) ?? [];
    if (!KNOWN.has(key) && !isRestriction(key)) continue;
    count += 1;
    let end = index + 1;
    while (end < lines.length && isBelow(lines[end] ?? "")) end += 1;
    const below = lines.slice(index + 1, end).map((next) => next.trim());
    const isDoubtful =
      isRestriction(key) && written.trim() !== "" && below.some((next) => next !== "");
    const items = below.map((next) => next.replace(/^- /, ""));
    const value = isDoubtful ? null : valueOf(written.trim(), items);
    // Two readings of a restriction: neither can be believed.
    values[key] = isRestriction(key) && key in values && values[key] !== value ? null : value;
  }
  return count === 0 ? null : values;
}

/** Further in, empty, or an item of a list. */
function isBelow(line: string): boolean {
  return !/^\S/.test(line) || line.startsWith("- ");
}

function valueOf(written: string, below: readonly string[]): YamlValue {
  const text = /^[|>][-+\d]*$/.test(written) ? below.join(" ") : [written, ...below].join(" ");
  const trimmed = text.trim();
  const [, , inner] = /^(["'])(.*)\1$/.exec(trimmed) ?? [];
  const value = inner ?? trimmed;
  return value === "" ? null : value;
}
