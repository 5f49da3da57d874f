import {
  fromBase64,
  fromHex,
  fromReversedBase64,
  fromRot13Base64,
  reversed,
  rot13,
  withoutEscapes,
} from "./ciphers.ts";

/** Matches decoded text that is worth judging: it fetches, runs or opens something. */
const SAYS =
  /\b(?:curl|wget|iwr|irm|invoke-\w{7,10}|certutil|bitsadmin|urlopen|urllib|requests|fetch|nc|ncat|bash|sh|python3?|powershell|eval|exec|iex|system|subprocess|child_process)\b[^]{0,400}(?:https?:\/\/|ftp:\/\/|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d|\||\/dev\/tcp\/)|^\s*(?:https?|ftp):\/\/\S+\s*$|\/dev\/(?:tcp|udp)\/|\.ssh\/|\bid_(?:rsa|ed25519)\b/i;
const CLEARLY = /(?:https?|ftp):\/\/|\b(?:curl|wget|bash)\s/i;
const ENCODED =
  /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,8000}={0,2}|(?:(?:\\x|0x|\\u00)[\da-f]{2}[,\s]{0,2}){6,2000}|(?:%[2-7][\da-f]){6,}|(?:\\[01][0-7]{2}){6,}/gi;
const QUOTED = /"([^"\n]{6,4000})"|'([^'\n]{6,4000})'/g;
const TURNED = /lruc|tegw|hsab|ptth|hs\.|uggc|phey|jtrg|onfu|rkrp|riny/i;
const MAX_LITERALS = 64;
const MAX_DEPTH = 2;

/** The commands that are written in another form in a line: encoded, in reverse, or by ROT13. */
export function hiddenTexts(line: string, depth = 0): string[] {
  const found: string[] = [];
  if (line.length < 8) return found;
  let count = 0;
  for (const [literal] of line.matchAll(ENCODED)) {
    count += 1;
    if (count > MAX_LITERALS) break;
    // Paths and hyphenated words decode as base64, too, to meaningless text.
    for (const text of decodings(literal)) {
      if (SAYS.test(text)) found.push(text);
      if (depth < MAX_DEPTH) found.push(...hiddenTexts(text, depth + 1));
    }
  }
  if (depth === 0 && TURNED.test(line)) found.push(...turned(line));
  return found;
}

function decodings(literal: string): string[] {
  if (/^(?:\\|0x|%)/i.test(literal)) {
    const text = /^0x/i.test(literal) ? fromHex(literal) : withoutEscapes(literal);
    return text === null ? [] : [text];
  }
  // Paths and hyphenated words lack the digits, capitals and signs of base64.
  if (!/[A-Z]/.test(literal) || !/[a-z]/.test(literal)) {
    const text = fromHex(literal);
    return text === null ? [] : [text];
  }
  const bare = literal.replaceAll("-", "+").replaceAll("_", "/");
  const texts = [
    fromBase64(bare),
    fromHex(literal),
    fromReversedBase64(bare),
    fromRot13Base64(bare),
  ];
  return texts.filter((text) => text !== null);
}

function turned(line: string): string[] {
  const candidates = [
    line,
    ...Array.from(line.matchAll(QUOTED), ([, double, single]) => double ?? single ?? ""),
  ];
  return candidates
    .slice(0, 32)
    .flatMap((one) => [reversed(one), rot13(one), rot13(reversed(one))])
    .filter((text) => CLEARLY.test(text) && SAYS.test(text));
}
