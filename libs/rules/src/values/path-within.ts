/**
 * The result of checking whether a path is in a directory, by its text alone: the file system is not read, so symbolic links
 * are not followed and a case-insensitive file system is not taken into account.
 *
 * A path is `unclear` when the text does not determine its target: a relative path against an absolute directory (the tool's
 * working directory is unknown), a relative path that climbs out with `..`, and everything that tools are known to interpret in
 * their own way: `~`, quotes or blanks at the ends, a leading variable (`$HOME`), dots and slashes that are percent-encoded,
 * backslashes, drive letters and URLs, control characters.
 */
export type Containment = "inside" | "outside" | "unclear";

const MAX_PATH_LENGTH = 4_096;
const CONTROL_CHARACTER = /\p{Cc}/u;
const SCHEME_OR_DRIVE = /^[a-zA-Z][a-zA-Z0-9+.-]*:/;
const HIDDEN_DOT_OR_SLASH = /%(?:25)*(?:2[ef]|5c)/i;
const QUOTED_OR_PADDED = /^[\s"']|[\s"']$/;

/** Compares after resolving `.`, `..` and repeated slashes. `/data` contains itself; `/database` is outside it. */
export function pathWithin(directory: string, path: string): Containment {
  const base = canonicalPath(directory);
  const target = canonicalPath(path);
  if (base === null || target === null || base.absolute !== target.absolute) return "unclear";
  const inside = base.segments.every((segment, index) => target.segments[index] === segment);
  return inside ? "inside" : "outside";
}

/** True when a rule may name the path as a directory: one that {@link pathWithin} can compare with. */
export function isComparablePath(path: string): boolean {
  return canonicalPath(path) !== null;
}

interface CanonicalPath {
  readonly absolute: boolean;
  readonly segments: readonly string[];
}

function canonicalPath(path: string): CanonicalPath | null {
  if (path === "" || path.length > MAX_PATH_LENGTH || isReadDifferentlyByTools(path)) return null;
  const absolute = path.startsWith("/");
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined && !absolute) return null;
  }
  return { absolute, segments };
}

function isReadDifferentlyByTools(path: string): boolean {
  return (
    path.startsWith("~") ||
    path.startsWith("$") ||
    HIDDEN_DOT_OR_SLASH.test(path) ||
    path.includes("\\") ||
    QUOTED_OR_PADDED.test(path) ||
    SCHEME_OR_DRIVE.test(path) ||
    CONTROL_CHARACTER.test(path)
  );
}
