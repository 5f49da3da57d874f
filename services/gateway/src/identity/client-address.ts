import { isIP } from "node:net";

/**
 * Returns the client's address. Each of the proxies in front of the gateway appends the address of its client to
 * `X-Forwarded-For`, so exactly that many entries from the end are trusted: a client can forge all entries before them.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string {
  const own = socketAddress ?? "";
  if (trustedProxies === 0 || forwardedFor === undefined) return plainAddress(own);
  const seen = forwardedFor.split(",").map((one) => plainAddress(one.trim()));
  const address = seen.at(-Math.min(trustedProxies, seen.length)) ?? "";
  return isIP(address) === 0 ? plainAddress(own) : address;
}

/** Some proxies add the port; a socket for both versions reports IPv4 as IPv6. */
export function plainAddress(text: string): string {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(bracketed ?? text) ?? [];
  const [, withPort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  return mapped ?? bracketed ?? withPort ?? text;
}

/** Returns the name that limits of an address count under: for IPv6 the network, since one customer has all addresses of it. */
export function limitedAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array<string>(zeros).fill("0"), ...after].slice(0, 4);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
