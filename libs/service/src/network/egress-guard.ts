import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { commaSeparated } from "../env.ts";

/**
 * Decides which addresses a process may connect to for others. The URL of an MCP server, a page that a model requests, their redirects:
 * these are chosen by others, and without this they could reach the cloud's metadata service or any other internal listener.
 */
export interface EgressGuard {
  /** Throws EgressError when the host of the URL is an address that is not permitted. */
  checkUrl(url: URL): void;
  /**
   * Resolves a name to its permitted addresses alone, or fails. A socket connects to exactly what
   * this returns, so an answer that changes later (DNS rebinding) reaches nothing.
   */
  readonly lookup: LookupFunction;
}

/** The addresses that the setting permits beside public ones. */
export interface PrivateHosts {
  isPermitted(address: string): boolean;
}

/** The address is not one that this process may connect to for others. Nothing was sent. */
export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly code = "EGRESS_REFUSED";
}

const LOOPBACK = ["127.0.0.0/8", "::1/128"];
/** RFC 1918, RFC 6598 and RFC 4193: what an organisation gives to its own machines. */
const PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];
/** The metadata services of clouds; most are link-local, these are not. Only a full address permits one. */
const METADATA = ["168.63.129.16/32", "100.100.100.200/32", "fd00:ec2::254/128"];
/**
 * The IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, as of November 2026) and multicast, RFC 5771.
 * Those of IPv6 that lie outside of 2000::/3 are below. Compared block by block with the registries as CPython has them
 * (Lib/ipaddress.py) and those that it leaves out, RFC 9780 and RFC 9602. Its few addresses that are reachable inside of these blocks, such
 * as anycast of AS112, 192.0.0.9 and 2001:4:112::/48, are not addresses of pages and servers, and stay refused.
 */
const SPECIAL = [
  "0.0.0.0/8",
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "2001::/23",
  "2001:db8::/32",
  "2620:4f:8000::/48",
  "3fff::/20",
];
/** IPv6 addresses that carry an IPv4 address: prefix and the position of its first group. */
const CARRIERS = [
  { network: networks(["::ffff:0:0/96", "64:ff9b::/96"]), group: 6 },
  { network: networks(["2002::/16"]), group: 1 },
];
/**
 * The IPv6 addresses that may be public: IANA has assigned global addresses from 2000::/3 alone (RFC 4291, the IPv6 Address Space
 * registry). IPv4-translated addresses (::ffff:0:0:0/96), 5f00::/16, 100::/64 and the link-local ones are outside.
 */
const GLOBAL_IPV6 = networks(["2000::/3", "::ffff:0:0/96", "64:ff9b::/96"]);

const refused = networks([...LOOPBACK, ...PRIVATE, ...METADATA, ...SPECIAL]);
const metadata = networks(METADATA);

/**
 * Reads the setting: `loopback`, `private`, addresses and networks in CIDR notation, with commas.
 * Throws an error that names what it cannot read.
 */
export function parsePrivateHosts(setting: string): PrivateHosts {
  const words = commaSeparated(setting);
  const byGroup = networks(
    words.flatMap((word) => (word === "loopback" ? LOOPBACK : word === "private" ? PRIVATE : [])),
  );
  const named = words.filter((word) => word !== "loopback" && word !== "private");
  const unknown = named.find((word) => !isNetwork(word));
  if (unknown !== undefined) {
    throw new Error(
      `${JSON.stringify(unknown)} is not an address; write loopback, private, an IP address or a network such as 10.1.0.0/16`,
    );
  }
  const byAddress = networks(named);
  return {
    isPermitted: (address) =>
      includes(byAddress, address) || (includes(byGroup, address) && !includes(metadata, address)),
  };
}

export interface EgressGuardOptions {
  readonly permitted: PrivateHosts;
  /** The name of the setting that permits more, for messages. */
  readonly setting: string;
  /** Left out, it is the resolver of the machine. */
  readonly resolve?: typeof dnsLookup;
}

/** Makes a guard for sockets that connect through its `lookup`. */
export function createEgressGuard({
  permitted,
  setting,
  resolve = dnsLookup,
}: EgressGuardOptions): EgressGuard {
  const isOpen = (address: string): boolean =>
    permitted.isPermitted(address) || !isSpecialAddress(address);
  return {
    checkUrl(url) {
      const host = url.hostname.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0 && !isOpen(host)) throw refusal(host, setting);
    },
    lookup: (hostname, options, callback) => {
      const all: LookupOptions & { all: true } = { ...options, all: true };
      resolve(hostname, all, (error, addresses) => {
        if (error !== null) return callback(error, "", 0);
        const open = addresses.filter(({ address }) => isOpen(address));
        const [first] = open;
        if (first === undefined)
          return callback(refusal(withAddresses(hostname, addresses), setting), "", 0);
        if (options.all === true) callback(null, open);
        else callback(null, first.address, first.family);
      });
    },
  };
}

/** True for every address that is not a public one, in whichever notation. */
export function isSpecialAddress(address: string): boolean {
  if (isIP(address) === 6 && !GLOBAL_IPV6.check(withoutZone(address), "ipv6")) return true;
  return includes(refused, address);
}

function withAddresses(hostname: string, addresses: readonly LookupAddress[]): string {
  return `${hostname} (${addresses.map(({ address }) => address).join(", ")})`;
}

function refusal(what: string, setting: string): EgressError {
  return new EgressError(
    `${what} is not a public address; permit it in ${setting} if the server is meant to be there`,
  );
}

function networks(list: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const text of list) {
    const [address = "", bits] = text.split("/");
    const type = isIP(address) === 6 ? "ipv6" : "ipv4";
    blocks.addSubnet(address, Number(bits ?? (type === "ipv6" ? 128 : 32)), type);
  }
  return blocks;
}

function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32))
  );
}

/** Also when the address carries an IPv4 one that is in a block. */
function includes(blocks: BlockList, address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  const carried = carriedIpv4(address);
  if (carried !== null && blocks.check(carried, "ipv4")) return true;
  return blocks.check(withoutZone(address), version === 6 ? "ipv6" : "ipv4");
}

/** `fe80::1%eth0` names an interface of this machine beside the address. */
function withoutZone(address: string): string {
  return address.split("%", 1)[0] ?? address;
}

function carriedIpv4(address: string): string | null {
  if (isIP(address) !== 6) return null;
  const plain = withoutZone(address);
  const carrier = CARRIERS.find(({ network }) => network.check(plain, "ipv6"));
  if (carrier === undefined) return null;
  const groups = expandIpv6(plain);
  const [high = 0, low = 0] = groups.slice(carrier.group);
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

/** The eight groups of an IPv6 address. The URL parser writes every notation alike. */
function expandIpv6(address: string): number[] {
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail = ""] = text.split("::");
  const before = groupsOf(head);
  const behind = groupsOf(tail);
  const zeros = Array.from({ length: 8 - before.length - behind.length }, () => 0);
  return [...before, ...zeros, ...behind];
}

function groupsOf(part: string): number[] {
  return part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
}
