import { createHash } from "node:crypto";

/**
 * Returns the `ETag` of an answer: the version of the object it shows, if that has one, and a digest of the whole answer.
 * `If-None-Match` compares both, `If-Match` the version alone: activity of an object, such as a run of a job, does not change
 * its version.
 */
export function entityTag(
  body: string,
  version: string | null,
  encoding: "gzip" | null = null,
): string {
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 16);
  // A strong tag is of one encoding (RFC 9110, 8.8.3.3).
  const digest = encoding === null ? hash : `${hash}-${encoding}`;
  return version === null ? `"${digest}"` : `"${version}.${digest}"`;
}

/** Returns the version that the `ETag` of an `If-Match` names; null when it is not one. */
export function versionIn(ifMatch: string): string | null {
  return (
    /^"([\x21\x23-\x2d\x2f-\x7e]{1,128})(?:\.[\w-]{1,64})?"$/.exec(ifMatch.trim())?.[1] ?? null
  );
}

/** True when an `If-None-Match` contains the tag, or is `*`. */
export function isKnown(tag: string, ifNoneMatch: string): boolean {
  const known = ifNoneMatch.split(",").map((one) => one.trim().replace(/^W\//, ""));
  return known.some((one) => one === tag || one === "*");
}

/** Returns the text or number at a path such as `agent.digest` or `versions.0.version`; null when there is none. */
export function versionAt(reply: unknown, path: string): string | null {
  let value = reply;
  for (const name of path.split("."))
    value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  return typeof value === "string" || typeof value === "number" ? String(value) : null;
}
