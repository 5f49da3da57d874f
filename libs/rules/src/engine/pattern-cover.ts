import { matchesGlob } from "@switchyard/contracts/glob";
import type { ToolPattern } from "@switchyard/contracts/tool-patterns";

/** True only when every tool that `other` selects is selected by `pattern`. See {@link coversGlob}. */
export function coversTool(pattern: ToolPattern, other: ToolPattern): boolean {
  if (pattern.kind === "everything") return true;
  if (pattern.kind === "server" && other.kind === "server") {
    return coversGlob(pattern.server, other.server) && coversGlob(pattern.tool, other.tool);
  }
  if (pattern.kind === "bare" && other.kind === "bare") return coversGlob(pattern.name, other.name);
  return false;
}

/**
 * True only when every text that `other` matches is matched by `glob`. The other glob is read as a text in which
 * a `*` can be taken only by a `*` and a `?` only by a wildcard, so true is certain; a few odd
 * pairs such as `?*` and `*a` are covered and not seen.
 */
export function coversGlob(glob: string, other: string): boolean {
  if (!/[*?]/.test(other)) return matchesGlob(glob, other);
  return coversPattern(normalized(glob), normalized(other));
}

/** In a run of wildcards the order means nothing: `*?` is `?*`, and `**` is `*`. */
function normalized(glob: string): string {
  return glob.replaceAll(/[*?]{2,}/g, (run) => {
    const ones = run.replaceAll("*", "");
    return run.includes("*") ? `${ones}*` : ones;
  });
}

/** Takes all readings of `glob` at a time, so the cost is at most the product of the lengths. */
function coversPattern(glob: string, other: string): boolean {
  let states = starsFrom(glob, new Set([0]));
  // Counts UTF-16 units, as matchesGlob does.
  for (let unit = 0; unit < other.length && states.size > 0; unit += 1) {
    const next = new Set<number>();
    for (const at of states) {
      if (glob[at] === "*") next.add(at);
      else if (takes(glob[at], other[unit])) next.add(at + 1);
    }
    states = starsFrom(glob, next);
  }
  return states.has(glob.length);
}

/** A `?` of the other glob is any character, which no literal takes. */
function takes(place: string | undefined, unit: string | undefined): boolean {
  return unit !== "*" && (place === "?" || place === unit);
}

/** Returns the positions that can be reached without consuming a character. */
function starsFrom(glob: string, states: ReadonlySet<number>): Set<number> {
  const reached = new Set(states);
  for (const at of reached) if (glob[at] === "*") reached.add(at + 1);
  return reached;
}
