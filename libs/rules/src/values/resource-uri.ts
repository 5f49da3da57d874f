/**
 * A resource's URI is sent to its server unchanged, and each server maps it to a path or a name in its own way. Therefore no rule
 * may allow a URI that may lead elsewhere than it seems to, and deny rules compare URIs regardless of their spelling.
 */

/** Percent-encoded letters, digits, `-`, `.`, `_` and `~`, which need none (RFC 3986 §2.3), also encoded twice. */
const NEEDLESS = /%(?:25)*(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i;
const ODD = /[\\\p{Cc}]/u;
const SLASH = /\/|%(?:25)*2f/i;

/** False for dot segments, needless percent-encoding, backslashes and control characters. */
export function isPlainUri(uri: string): boolean {
  if (ODD.test(uri) || NEEDLESS.test(uri)) return false;
  // `file://./notes` is relative to the server's directory: a dot instead of a host leads nowhere else.
  const [first = "", second, host, ...segments] = uri.split(SLASH);
  const isHierarchical = first.endsWith(":") && second === "";
  const others = isHierarchical ? segments : [second, host, ...segments];
  if ((isHierarchical ? host : first.replace(/^.*:/, "")) === "..") return false;
  return !others.some((segment) => segment === "." || segment === "..");
}

/** Returns the common form of URIs that may lead to the same resource, for a URI and for a pattern of URIs. */
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
