import type { Span } from "./span.ts";

/** Finds numbers with checksums or fixed forms: IBANs, payment cards, and US social security numbers. All are linear in the text. */

/** Lengths by country, from the registry of ISO 13616 (SWIFT, release 99). */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 " +
    "GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 " +
    "MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 " +
    "TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
  )
    .split(" ")
    .map((entry) => [entry.replace(/\d+$/, ""), Number(entry.replace(/^\D+/, ""))]),
);

const IBAN_BEGIN = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}/g;
const LETTER_OR_DIGIT = /[A-Za-z0-9]/;

/** An IBAN in one piece, or with single blanks or hyphens between its characters. */
export function findIbans(text: string): Span[] {
  const found: Span[] = [];
  for (const { 0: begin, index } of text.matchAll(IBAN_BEGIN)) {
    const length = IBAN_LENGTHS[begin.replace(/\d+$/, "").toUpperCase()];
    if (length === undefined) continue;
    const end = endOf(text, index, length);
    if (end === null || LETTER_OR_DIGIT.test(text.charAt(end))) continue;
    if (isIban(text.slice(index, end).replaceAll(/[ -]/g, ""))) found.push({ start: index, end });
  }
  return found;
}

/** The position behind so many letters and digits, with at most one separator between two of them. */
function endOf(text: string, start: number, count: number): number | null {
  let at = start;
  for (let left = count; left > 0; left -= 1) {
    if (left < count && /[ -]/.test(text.charAt(at))) at += 1;
    if (!LETTER_OR_DIGIT.test(text.charAt(at))) return null;
    at += 1;
  }
  return at;
}

/** The checksum of ISO 7064, modulo 97. */
function isIban(iban: string): boolean {
  let rest = 0;
  for (const character of iban.replace(/^(.{4})(.*)$/, "$2$1"))
    for (const digit of String(Number.parseInt(character, 36)))
      rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}

/** In one piece, or in the groups that are printed on cards, with one kind of separator. */
const CARD =
  /(?<![\w.])(?:\d{13,19}|(?:\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{4,5})(?![ -]\d{4}(?!\d)))(?!\w|[.,]\d)/g;

export function findCards(text: string): Span[] {
  return [...text.matchAll(CARD)].flatMap(({ 0: found, index }) =>
    isCard(found.replaceAll(/[ -]/g, "")) ? [{ start: index, end: index + found.length }] : [],
  );
}

/** The number ranges of the large networks with their lengths, and the checksum of ISO/IEC 7812. */
function isCard(digits: string): boolean {
  const isOfNetwork =
    /^4(?:\d{12}|\d{15}|\d{18})$/.test(digits) ||
    (/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/.test(digits.padEnd(4)) &&
      digits.length === 16) ||
    /^3[47]\d{13}$/.test(digits) ||
    /^3(?:0[0-5]|[68]\d)\d{11}$/.test(digits) ||
    /^(?:6011|64[4-9]\d|65\d\d|35(?:2[89]|[3-8]\d)|62\d\d)\d{12,15}$/.test(digits);
  return isOfNetwork && hasLuhn(digits);
}

function hasLuhn(digits: string): boolean {
  let sum = 0;
  for (let back = 1; back <= digits.length; back += 1) {
    const digit = Number(digits.at(-back));
    const doubled = back % 2 === 0 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Three parts with one separator. No number begins with 000, 666 or 9, and no part is zero. Two were printed in advertisements. */
const SSN = /(?<![\w.-])(?!000|666|9)\d{3}([ -])(?!00)\d{2}\1(?!0000)\d{4}(?!\w|[.,-]\d| \d)/g;
const ADVERTISED = new Set(["078051120", "219099999"]);

export function findSsns(text: string): Span[] {
  return [...text.matchAll(SSN)].flatMap(({ 0: found, index }) =>
    ADVERTISED.has(found.replaceAll(/[ -]/g, ""))
      ? []
      : [{ start: index, end: index + found.length }],
  );
}
