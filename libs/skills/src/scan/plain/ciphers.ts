import { gunzipSync, inflateSync } from "node:zlib";

const MAX_DECODED = 16 * 1024;
const TEXT = /^[\t\n\r\u0020-\u007E]*$/;

export function reversed(text: string): string {
  return text.split("").toReversed().join("");
}

export function rot13(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) => String.fromCharCode(turned(letter.charCodeAt(0))));
}

function turned(code: number): number {
  const base = code & 96;
  const isLetter = base >= 64 && (code & 31) > 0 && (code & 31) < 27;
  return isLetter ? base + ((code - base + 12) % 26) + 1 : code;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BASE64 = new Int16Array(128).fill(-1);
for (const [index, letter] of Array.from(
  `${LETTERS}${LETTERS.toLowerCase()}0123456789+/`,
).entries())
  BASE64[letter.charCodeAt(0)] = index;
BASE64["-".charCodeAt(0)] = 62;
BASE64["_".charCodeAt(0)] = 63;

/**
 * False when the first bytes that base64 encodes begin neither a text, in UTF-8 or UTF-16, nor gzip or zlib: this rejects nearly
 * all words that look like base64, in a fraction of the time of decoding them. `at` returns the character at an index, so that no
 * text is reversed first.
 */
export function mayBeBase64Text(length: number, at: (index: number) => number): boolean {
  if (length < 12) return true;
  for (let group = 0; group < 8; group += 4) {
    let bits = 0;
    for (let index = group; index < group + 4; index += 1) {
      const value = BASE64[at(index)] ?? -1;
      if (value < 0) return true;
      bits = (bits << 6) | value;
    }
    const [first, second, third] = [bits >> 16, (bits >> 8) & 255, bits & 255];
    if (group === 0 && (first === 0x1f || first === 0x78)) return true;
    if (!isTextByte(first) || !isTextByte(second) || !isTextByte(third)) return false;
  }
  return true;
}

/** Zero is the other half of an ASCII character in UTF-16. */
function isTextByte(byte: number): boolean {
  return (byte > 31 && byte < 127) || byte === 0 || byte === 9 || byte === 10 || byte === 13;
}

/** Decodes base64, and unpacks gzip and zlib; null where the result is no text. */
export function fromBase64(text: string): string | null {
  const bare = /\s/.test(text) ? text.replaceAll(/\s/g, "") : text;
  if (!mayBeBase64Text(bare.length, (index) => bare.charCodeAt(index))) return null;
  if (!/^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(bare)) return null;
  return textOf(Buffer.from(bare, "base64"));
}

/** Decodes base64 without blanks whose letters were reversed by `rev`. */
export function fromReversedBase64(text: string): string | null {
  const last = text.length - 1;
  const mayBeText = mayBeBase64Text(text.length, (index) => text.charCodeAt(last - index));
  return mayBeText ? fromBase64(reversed(text)) : null;
}

/** Decodes base64 without blanks whose letters were exchanged by ROT13. */
export function fromRot13Base64(text: string): string | null {
  const mayBeText = mayBeBase64Text(text.length, (index) => turned(text.charCodeAt(index)));
  return mayBeText ? fromBase64(rot13(text)) : null;
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
    // The data is not compressed, or larger than a command.
  }
  return bytes;
}

function character(code: number): string {
  return code > 8 && code < 0x110000 ? String.fromCodePoint(code) : "";
}
