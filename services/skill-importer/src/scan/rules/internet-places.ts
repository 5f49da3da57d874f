import type { ScannedText } from "../scanned-text.ts";

/** Hosts where anybody leaves text or files without a name, and changes them later. */
const PASTE_HOSTS = [
  "glot.io",
  "rentry.co",
  "rentry.org",
  "pastebin.com",
  "paste.ee",
  "hastebin.com",
  "ghostbin.com",
  "dpaste.com",
  "controlc.com",
  "0x0.st",
  "transfer.sh",
  "file.io",
  "gofile.io",
  "anonfiles.com",
  "catbox.moe",
  "telegra.ph",
];

/** Hosts that receive for anybody what is sent to them. */
const CATCH_HOSTS = [
  "webhook.site",
  "requestbin.com",
  "requestbin.net",
  "pipedream.net",
  "beeceptor.com",
  "interact.sh",
  "oast.fun",
  "oastify.com",
  "burpcollaborator.net",
  "ngrok.io",
  "ngrok-free.app",
  "ngrok.app",
  "trycloudflare.com",
  "serveo.net",
  "localhost.run",
];

const DROP_HOSTS = [...PASTE_HOSTS, ...CATCH_HOSTS];
const DROPS = new Set(DROP_HOSTS);
export const PASTE_HOST_HINTS: readonly string[] = PASTE_HOSTS;

export const DROP_HOST_HINTS: readonly string[] = DROP_HOSTS;

/** The host of a URL or a bare host name is one of those, or below one. */
export function isDropHost(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  const parts = name.split(".").slice(-3);
  return DROPS.has(parts.slice(-2).join(".")) || DROPS.has(parts.join("."));
}

/** A public IPv4 address: not private, local, reserved for documentation, or an obvious placeholder. */
export function isPublicAddress(host: string): boolean {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(host);
  if (parts === null) return false;
  const [a = 0, b = 0, c = 0, d = 0] = parts.slice(1).map(Number);
  if (Math.max(a, b, c, d) > 255) return false;
  const text = `${a}.${b}.${c}.${d}`;
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
  const isPlaceholder = ["1.2.3.4", "5.6.7.8", "1.1.1.1", "8.8.8.8", "8.8.4.4", "9.9.9.9"].includes(
    text,
  );
  return !isReserved && !isPlaceholder;
}

/** The host of the first URL in a text, without port and user; null when there is none. */
export function firstHost(text: string): string | null {
  return (
    /https?:\/\/(?:[^\s/@]{1,128}@)?([A-Za-z0-9.-]{3,253})/i.exec(text)?.[1]?.toLowerCase() ?? null
  );
}

/** The whole host name that an offset is part of. */
export function hostAround({ text }: ScannedText, offset: number): string {
  let start = offset;
  while (start > 0 && offset - start < 100 && HOST_CHARACTER.test(text[start - 1] ?? ""))
    start -= 1;
  let end = offset;
  while (end - offset < 100 && HOST_CHARACTER.test(text[end] ?? "")) end += 1;
  return text
    .slice(start, end)
    .replace(/[.-]{1,100}$/, "")
    .toLowerCase();
}

const HOST_CHARACTER = /^[A-Za-z0-9.-]$/;
