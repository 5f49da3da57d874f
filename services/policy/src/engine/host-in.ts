/**
 * Whether a URL, or a bare host name, is of one of some hosts, by the text alone: no name is looked
 * up. `unclear` is a text that does not say which host it means to every reader: no absolute URL of
 * a scheme that has hosts, a user or password in it, blanks, control characters and backslashes,
 * which clients are known to read in their own way.
 */
export type HostVerdict = "inside" | "outside" | "unclear";

const MAX_URL = 8_192;
const ODD = /[\s\\\p{Cc}]/u;
const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "ws:", "wss:", "ftp:"]);
const BARE_HOST = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** `*.example.org` is every host below `example.org`, and not itself. Ports play no part. */
export function hostIn(patterns: readonly string[], text: string): HostVerdict {
  const host = hostOf(text);
  if (host === null) return "unclear";
  const isListed = patterns.some((pattern) =>
    pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern,
  );
  return isListed ? "inside" : "outside";
}

/** True for what {@link hostIn} can match: written as URLs are normalised. */
export function isHostPattern(pattern: string): boolean {
  const host = pattern.replace(/^\*\./, "");
  return (
    host.length <= 253 && hostOf(host) === host && (host === pattern || !/^[\d.]+$/.test(host))
  );
}

function hostOf(text: string): string | null {
  if (text.length > MAX_URL || ODD.test(text)) return null;
  const url = URL.parse(BARE_HOST.test(text) ? `http://${text}` : text);
  if (url === null || !SCHEMES.has(url.protocol)) return null;
  if (url.username !== "" || url.password !== "" || url.hostname === "") return null;
  // `https:example.org` and `https:///example.org` are URLs to some readers only.
  if (!BARE_HOST.test(text) && !/^[a-z]+:\/\/[^/]/i.test(text)) return null;
  return url.hostname.replace(/(?<=.)\.$/, "");
}
