import type { Indicators } from "./indicators.ts";
import { beginningIn, type Span } from "./near.ts";
import { perText, type ScannedText } from "./scanned-text.ts";

/** The classification of a destination that a text names. */
export type DestinationKind = "known_bad" | "address" | "catch" | "paste" | "installer" | "other";

export interface Destination {
  readonly kind: DestinationKind;
  readonly host: string;
  /** Begins with `/`, or is empty. */
  readonly path: string;
  /** The reason why a known bad destination is listed. */
  readonly reason?: string | undefined;
}

/** Classifies destinations. */
export interface Destinations {
  /** Classifies a host and a path below it. */
  of(host: string, path?: string): Destination;
  /** All that a text names as URLs; with `isCommand`, bare names and addresses, too. */
  in(text: string, isCommand?: boolean): Destination[];
  /** Returns the destinations in a part of a file. A file is read once, however many of its parts are queried. */
  near(text: ScannedText, part: Span, isCommand?: boolean): Destination[];
}

const ADDRESS =
  /(?:https?|s?ftps?|tftp|wss?|tcp|udp|ssh|rsync|git|svn|ldaps?|smb):\/\/([^\s"'`<>()|\\^]{3,400})/gi;
const BARE = /(?<![\w.@/$<>~^-])(?:\w{1,32}@(?=\d{1,3}\.\d))?((?:[a-z0-9-]{1,63}\.){1,6}[a-z0-9]{1,24})(?::\d{1,5})?(\/[^\s"'`<>()|\\^]{0,200})?(?=[\s"'`<>()|;:\\&]|$)/gi; // prettier-ignore
/** Names that resolve to the address in them. */
const ADDRESS_NAME =
  /(?:\d{1,3}[.-]){3}\d{1,3}\.(?:nip|sslip|xip)\.io$|(?:^|[.-])[\da-f]{8}\.(?:nip|sslip)\.io$/;
const MAX_DESTINATIONS = 32;

/** Indexes the indicators once, for all texts. */
export function destinationsOf(indicators: Indicators): Destinations {
  const kinds = new Map<string, DestinationKind>();
  for (const host of indicators.installerHosts) kinds.set(host, "installer");
  for (const host of indicators.pasteHosts) kinds.set(host, "paste");
  for (const host of indicators.catchHosts) kinds.set(host, "catch");
  const bad = new Map(indicators.places.map(({ place, reason }) => [place, reason]));
  const withPaths = new Set(indicators.places.map(({ place }) => place.split("/", 1)[0]));

  const of = (written: string, path = ""): Destination => {
    const host = canonicalHost(written);
    const parents = parentsOf(host);
    for (const name of [host, ...parents]) {
      const reason = badReason(name, path);
      if (reason !== undefined) return { kind: "known_bad", host, path, reason };
    }
    if (isPublicAddress(host) || ADDRESS_NAME.test(host)) return { kind: "address", host, path };
    // An installer is one host; below a paste site every name is one.
    const known = kinds.get(host) ?? parents.map((name) => kinds.get(name)).find(isDrop);
    return { kind: known ?? "other", host, path };
  };
  const badReason = (host: string, path: string): string | undefined => {
    const whole = bad.get(host);
    if (whole !== undefined) return whole;
    let name = host === "raw.githubusercontent.com" ? "github.com" : host;
    if (!withPaths.has(name)) return undefined;
    for (const part of path.toLowerCase().split(/[/?#]/, 9).slice(1)) {
      name += `/${part}`;
      const reason = bad.get(name);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
  const addressesIn = function* (text: string, known: KnownPlaces): Generator<PlaceAt> {
    for (const match of text.matchAll(ADDRESS)) {
      const written = match[1] ?? "";
      const destination = remembered(known, written, () => {
        const { host, path } = split(written);
        return of(host, path);
      });
      yield { offset: match.index, destination };
    }
  };
  const bareIn = function* (text: string, known: KnownPlaces): Generator<PlaceAt> {
    for (const match of text.matchAll(BARE)) {
      const name = match[1] ?? "";
      // `1.5` is a number here, and an address only in a URL.
      if (/^[\d.]+$/.test(name)) {
        // So is a version: `a>=4.1.0.25`.
        const isVersion = /[<>~!^=]=\s?["']?$/.test(
          text.slice(Math.max(0, match.index - 4), match.index),
        );
        if (isVersion || !/^\d+\.\d+\.\d+\.\d+$/.test(name)) continue;
      }
      const path = match[2] ?? "";
      const destination = remembered(known, `${name} ${path}`, () => of(name, path));
      // A name with a dot is a file's name more often than a host.
      if (destination.kind !== "other") yield { offset: match.index, destination };
    }
  };
  const indexed = perText(({ text }) => {
    const known: KnownPlaces = new Map();
    return { addresses: [...addressesIn(text, known)], bare: [...bareIn(text, known)] };
  });
  return {
    of,
    in(text, isCommand = false) {
      const known: KnownPlaces = new Map();
      return [...addressesIn(text, known), ...(isCommand ? bareIn(text, known) : [])]
        .slice(0, MAX_DESTINATIONS)
        .map(({ destination }) => destination);
    },
    near(text, part, isCommand = false) {
      const { addresses, bare } = indexed(text);
      return [...beginningIn(addresses, part), ...(isCommand ? beginningIn(bare, part) : [])].map(
        ({ destination }) => destination,
      );
    },
  };
}

/** The destinations of one text, cached by their spelling: files that name many repeat a few. */
type KnownPlaces = Map<string, Destination>;

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  const found = known.get(key) ?? make();
  known.set(key, found);
  return found;
}

interface PlaceAt {
  readonly offset: number;
  readonly destination: Destination;
}

/** True for a site to which anyone can upload, or from which anyone can fetch, anonymously. */
export function isDrop(kind: DestinationKind | undefined): boolean {
  return kind === "paste" || kind === "catch";
}

/** True for a destination without a known owner, or one known to belong to an attacker. */
export function isUntrusted({ kind }: Destination): boolean {
  return kind === "known_bad" || kind === "address" || isDrop(kind);
}

/** `user@host:port/path` without the user and the port. */
function split(authority: string): { host: string; path: string } {
  const at = authority.search(/[/?#]/);
  const server = at < 0 ? authority : authority.slice(0, at);
  const host = server.slice(server.lastIndexOf("@") + 1).replace(/:\d{1,5}$/, "");
  return { host, path: at < 0 ? "" : authority.slice(at) };
}

/** Normalises a host as a browser does: `0x5b.92.1` and `1540157982` are addresses, too. */
function canonicalHost(written: string): string {
  const host = decoded(written).toLowerCase().replace(/\.$/, "");
  if (/^[1-9]\d{0,2}(?:\.(?:0|[1-9]\d{0,2})){3}$/.test(host)) return host;
  if (!/^(?:0x[\da-f]|\d)[\da-fx.]*$|^\[/.test(host)) return host;
  return URL.parse(`http://${host}/`)?.hostname ?? host;
}

/** Digits and dots may be written in other ways. */
function decoded(host: string): string {
  if (!/[%\u0080-\uFFFF]/.test(host)) return host;
  return host
    .replaceAll(/%([2-7][\da-f])/gi, (_all, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .normalize("NFKC")
    .replaceAll("。", ".");
}

/** Returns the domains above a host, without the top-level domain. */
function parentsOf(host: string): string[] {
  const parents: string[] = [];
  const last = host.lastIndexOf(".");
  for (let dot = host.indexOf("."); dot >= 0 && dot < last; dot = host.indexOf(".", dot + 1))
    parents.push(host.slice(dot + 1));
  return parents;
}

/** Addresses of examples and of public name servers. */
const PLACEHOLDERS = new Set(
  "1.2.3.4 5.6.7.8 1.1.1.1 1.0.0.1 8.8.8.8 8.8.4.4 9.9.9.9 149.112.112.112 208.67.222.222 208.67.220.220 114.114.114.114 223.5.5.5 223.6.6.6 119.29.29.29 4.2.2.2".split(
    " ",
  ),
);

/** A public address: not private, local, reserved for documentation, or an obvious placeholder. */
export function isPublicAddress(host: string): boolean {
  const mapped = /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/.exec(host);
  if (mapped !== null) {
    const [high, low] = mapped.slice(1).map((part) => Number.parseInt(part, 16));
    return isPublicAddress(
      [(high ?? 0) >> 8, (high ?? 0) & 255, (low ?? 0) >> 8, (low ?? 0) & 255].join("."),
    );
  }
  if (host.startsWith("[")) return /^\[2(?!001:db8)[\da-f]{3}:/.test(host);
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(host);
  if (parts === null) return false;
  const [a = 0, b = 0, c = 0, d = 0] = parts.slice(1).map(Number);
  if (Math.max(a, b, c, d) > 255) return false;
  const isReserved =
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)))) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113);
  return !isReserved && !PLACEHOLDERS.has(host);
}
