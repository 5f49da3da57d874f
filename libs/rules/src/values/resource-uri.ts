/**
 * A resource's URI goes to its server as it is, and each server makes a path or a name of it in its own way. So a URI
 * that leads elsewhere than it seems to is nobody's to allow, and a rule that denies looks through its spelling.
 */

/** Percent-encoded letters, digits, `-`, `.`, `_` and `~`, which need none (RFC 3986 §2.3), also encoded twice. */
const NEEDLESS = /%(?:25)*(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i;
const ODD = /[\\\p{Cc}]/u;
const SLASH = /\/|%(?:25)*2f/i;

/** False for dot segments, needless percent-encoding, backslashes and control characters. */
export function isPlainUri(uri: string): boolean {
  if (ODD.test(uri) || NEEDLESS.test(uri)) return false;
  // `file://./notes` is relative to who serves it: a dot in the place of a host leads nowhere else.
  const [first = "", second, host, ...segments] = uri.split(SLASH);
  const isHierarchical = first.endsWith(":") && second === "";
  const others = isHierarchical ? segments : [second, host, ...segments];
  if ((isHierarchical ? host : first.replace(/^.*:/, "")) === "..") return false;
  return !others.some((segment) => segment === "." || segment === "..");
}

/** What URIs that may lead to the same place have in common, for a URI and for a pattern of URIs. */
export function looseUri(text: string): string {
  const plain = text.replaceAll(/(?:%[\da-f]{2})+/gi, decoded);
  const [, start = "", rest = plain] = /^([^/]*:\/\/[^/]*)(.*)$/s.exec(plain) ?? [];
  const host = start.toLowerCase().replace(/^file:\/\/localhost$/, "file://");
  return `${host}${rest.replaceAll(/\/{2,}/g, "/")}`;
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded).normalize("NFC");
  } catch {
    return encoded; // of another character set; it stays as it is
  }
}
