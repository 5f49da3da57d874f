import { gunzipSync, inflateSync } from "node:zlib";

const MAX_DECODED = 16 * 1024;
const TEXT = /^[\t\n\r\u0020-\u007E]*$/;

export function reversed(text: string): string {
  return text.split("").toReversed().join("");
}

export function rot13(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) => {
    const base = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });
}

/** Decodes base64, and unpacks gzip and zlib; null where the result is no text. */
export function fromBase64(text: string): string | null {
  const bare = text.replaceAll(/\s/g, "");
  if (!/^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(bare)) return null;
  return textOf(Buffer.from(bare, "base64"));
}

/** Decodes hex digits, with or without `\x`, `0x` or blanks. */
export function fromHex(text: string): string | null {
  const bare = text.replaceAll(/\\x|0x|[\s,:;]/gi, "");
  if (bare.length < 8 || bare.length % 2 === 1 || !/^[\da-f]+$/i.test(bare)) return null;
  return textOf(Buffer.from(bare, "hex"));
}

/** `\x63`, `\u0063`, `\143`, `%63` and `&#99;` as characters. */
export function withoutEscapes(text: string): string {
  return text
    .replaceAll(
      /\\x([\da-f]{2})|\\u\{?([\da-f]{4})\}?|%([2-7][\da-f])/gi,
      (_all, ...codes) =>
        character(
          Number.parseInt(codes.slice(0, 3).find((one) => one !== undefined) as string, 16),
        ), // one of them matched
    )
    .replaceAll(/\\0?([0-7]{3})/g, (_all, octal: string) => character(Number.parseInt(octal, 8)))
    .replaceAll(/&#(\d{2,3});/g, (_all, decimal: string) => character(Number(decimal)));
}

/** Decodes numbers that are codes of characters. */
export function fromCodes(codes: readonly number[]): string | null {
  if (codes.length < 3 || !codes.every((code) => code > 8 && code < 127)) return null;
  return String.fromCharCode(...codes);
}

/** Translates as `tr` does: with ranges, and a set that is too short repeats its last character. */
export function translated(text: string, from: string, to: string): string {
  const [source, target] = [ranges(from), ranges(to)];
  return text
    .split("")
    .map((one) => {
      const at = source.lastIndexOf(one);
      return at < 0 ? one : (target[at] ?? target.at(-1) ?? "");
    })
    .join("");
}

export function ranges(set: string): string[] {
  const names: Readonly<Record<string, string>> = {
    lower: "a-z",
    upper: "A-Z",
    digit: "0-9",
    space: " \t\n",
  };
  const plain = set.replaceAll(/\[:(\w{5}):\]/g, (all, name: string) => names[name] ?? all);
  const found: string[] = [];
  for (let at = 0; at < plain.length && found.length < 512; at += 1) {
    const [first, dash, last] = [plain.charCodeAt(at), plain[at + 1], plain.charCodeAt(at + 2)];
    if (dash !== "-" || !(last >= first)) {
      found.push(plain[at] ?? "");
      continue;
    }
    for (let code = first; code <= last; code += 1) found.push(String.fromCharCode(code));
    at += 2;
  }
  return found;
}

function textOf(bytes: Buffer): string | null {
  const unpacked = unpack(bytes.subarray(0, MAX_DECODED));
  // PowerShell's are UTF-16.
  const text = unpacked.toString(unpacked.includes(0) ? "utf16le" : "utf8");
  return text.length > 0 && TEXT.test(text.slice(0, 400)) ? text.slice(0, MAX_DECODED) : null;
}

function unpack(bytes: Buffer): Buffer {
  const options = { maxOutputLength: MAX_DECODED };
  try {
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipSync(bytes, options);
    if (bytes[0] === 0x78 && [0x01, 0x9c, 0xda].includes(bytes[1] ?? 0))
      return inflateSync(bytes, options);
  } catch {
    // Not packed, or more than a command.
  }
  return bytes;
}

function character(code: number): string {
  return code > 8 && code < 0x110000 ? String.fromCodePoint(code) : "";
}
