import { isIP } from "node:net";

/**
 * From where a request comes. Each of the proxies in front of the gateway adds the address that it saw to the end of
 * `X-Forwarded-For`, so that many from the end are believed and no more: what stands before them, anybody may write.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string {
  const own = socketAddress ?? "";
  if (trustedProxies === 0 || forwardedFor === undefined) return plain(own);
  const seen = forwardedFor.split(",").map((one) => plain(one.trim()));
  const address = seen.at(-Math.min(trustedProxies, seen.length)) ?? "";
  return isIP(address) === 0 ? plain(own) : address;
}

/** Some proxies write the port as well; a socket for both versions writes IPv4 as IPv6. */
function plain(text: string): string {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(bracketed ?? text) ?? [];
  const [, withPort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  return mapped ?? bracketed ?? withPort ?? text;
}
