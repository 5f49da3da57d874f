/**
 * The result of checking whether a URL, or a bare host name, belongs to one of some hosts, by its text alone: no name is
 * resolved. `unclear` is a text whose host different parsers may read differently: it is no absolute URL of a scheme that has
 * hosts, or it contains a user or password, blanks, control characters or backslashes, which clients are known to parse in their
 * own way. The same applies to an IPv4 address that is not written as four plain numbers or is embedded in an IPv6 address, to
 * percent-encoding in the host, and to letters that are mapped to ASCII ones. Only a pattern that itself names such an IPv6
 * address matches it.
 */
export type HostVerdict = "inside" | "outside" | "unclear";

const MAX_URL = 8_192;
const ODD = /[\s\\\p{Cc}]/u;
const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "ws:", "wss:", "ftp:"]);
const BARE_HOST = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
/** Mapped, compatible, translated (RFC 6052) and 6to4 addresses, as URLs have them; `[::1]` and `[::]` are none. */
const IPV4_INSIDE =
  /^\[(?:::(?:ffff:(?:0:)?)?[\da-f]{1,4}:[\da-f]{1,4}|64:ff9b::[\da-f:]*|2002:[\da-f:]+)\]$/;

/** `*.example.org` is every host below `example.org`, and not itself. Ports play no part. */
export function hostIn(patterns: readonly string[], text: string): HostVerdict {
  const host = hostOf(text);
  if (host === null) return "unclear";
  const isListed = patterns.some((pattern) =>
    pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern,
  );
  if (isListed) return "inside";
  return IPV4_INSIDE.test(host) ? "unclear" : "outside";
}

/** True for a pattern that {@link hostIn} can match: written as URLs are normalised. */
export function isHostPattern(pattern: string): boolean {
  const host = pattern.replace(/^\*\./, "");
  return (
    host.length <= 253 && hostOf(host) === host && (host === pattern || !/^[\d.]+$/.test(host))
  );
}

function hostOf(text: string): string | null {
  if (text.length > MAX_URL || ODD.test(text)) return null;
  const isBare = BARE_HOST.test(text);
  const url = URL.parse(isBare ? `http://${text}` : text);
  if (url === null || !SCHEMES.has(url.protocol)) return null;
  if (url.username !== "" || url.password !== "" || url.hostname === "") return null;
  // `https:example.org` and `https:///example.org` are URLs to some readers only.
  if (!isBare && !/^[a-z]+:\/\/[^/]/i.test(text)) return null;
  const written = isBare ? text : (text.split("/", 3)[2] ?? "");
  const host = url.hostname.replace(/(?<=.)\.$/, "");
  return isPlain(written, host) ? host : null;
}

/** True when simpler URL parsers also read the text before the path as this host. */
function isPlain(written: string, host: string): boolean {
  // A parser that looks for the `@` first reads `a.example#@b.example` as a user name followed by a host.
  if (written.includes("%") || written.includes("@")) return false;
  if (IPV4.test(host)) return withoutPort(written).replace(/\.$/, "") === host;
  return /^\p{ASCII}*$/u.test(written) || host.includes("xn--");
}

function withoutPort(written: string): string {
  return written.replace(/[?#].*$/s, "").replace(/:\d*$/, "");
}
