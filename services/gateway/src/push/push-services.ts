import { constant } from "@switchyard/service/constant";

/** The origins of the browser makers' push services: Google (also Edge on some systems), Mozilla, Apple and Microsoft. */
const ORIGINS = [
  "https://fcm.googleapis.com",
  "https://updates.push.services.mozilla.com",
  "https://*.push.apple.com",
  "https://*.notify.windows.com",
].join(" ");

/**
 * True for an address at a known push service. A browser chooses the address, and a viewer may send it, so the gateway
 * posts to no other host.
 */
export function isAtPushService(url: URL): boolean {
  if (url.username !== "" || url.password !== "") return false;
  return constant("pushOrigins", ORIGINS)
    .split(" ")
    .some((origin) => {
      const [scheme = "", suffix] = origin.split("*");
      if (suffix === undefined) return url.origin === origin;
      return url.origin.startsWith(scheme) && url.origin.endsWith(suffix);
    });
}
