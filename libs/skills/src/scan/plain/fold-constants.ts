import { fromBase64, fromCodes, fromHex, reversed, rot13, withoutEscapes } from "./ciphers.ts";
import type { Constants } from "./expand-shell.ts";

const TEXT = String.raw`(?:"([^"\\\n]{0,2000})"|'([^'\\\n]{0,2000})')`;
const LIST = String.raw`[[(]\s?((?:["'][^"'\n]{0,200}["']\s?,?\s?){2,64})[\])]`;
const CODES = String.raw`((?:\s?(?:0x[\da-f]{2}|\d{1,3})\s?,){2,400}\s?(?:0x[\da-f]{2}|\d{1,3})\s?)`;

type Fold = readonly [pattern: RegExp, fold: (match: RegExpExecArray) => string | null];

/** Constant expressions, in the languages that skills are written in. A fold that returns null changes nothing. */
const FOLDS: readonly Fold[] = [
  // 'cu' + 'rl', 'cu' . 'rl', "cu" "rl"
  rule(String.raw`${TEXT}\s{0,3}(?:[+.&]|\.\.|\|\|)\s{0,3}${TEXT}`, (match) =>
    literal(textIn(match, 1) + textIn(match, 3)),
  ),
  rule(String.raw`(?<=[(=,\s])${TEXT}[ \t]{1,3}${TEXT}(?=[),;\s]|$)`, (match) =>
    literal(textIn(match, 1) + textIn(match, 3)),
  ),
  // chr(99), [char]99, "{0}{1}" -f "cu", "rl"
  rule(
    String.raw`(?:\bchr\(\s?(0x[\da-f]{2}|\d{2,3})\s?\)|\[char\]\(?(0x[\da-f]{2}|\d{2,3})\)?|\bchr (\d{2,3})\b)`,
    (match) => characters([match[1] ?? match[2] ?? match[3] ?? ""]),
  ),
  rule(String.raw`(?:fromCharCode|fromCodePoint)\(\s?(?:\.\.\.\s?\[)?${CODES}\]?\)`, (match) =>
    characters((match[1] ?? "").split(",")),
  ),
  rule(
    String.raw`(?:bytes(?:array)?\(|Buffer\.from\(|map\(chr,|pack\(?\s?["']C\*["'],|\[char\[\]\]\(?|\bin |@\(|Uint8Array(?:\.from|\.of)?\()\s?[[({]{0,2}${CODES}[\])}]{1,3}(?:\.pack\(["']c\*["']\)|\.decode\([^)]{0,12}\)|\.toString\(\))?`,
    (match) => characters((match[1] ?? "").split(",")),
  ),
  rule(String.raw`${TEXT}\s{0,2}-f\s{0,2}((?:["'][^"'\n]{0,200}["']\s?,?\s?){1,32})`, (match) =>
    formatted(textIn(match, 1), itemsOf(match[3] ?? "")),
  ),
  rule(String.raw`${TEXT}\.format\(((?:["'][^"'\n]{0,200}["']\s?,?\s?){1,32})\)`, (match) =>
    formatted(textIn(match, 1), itemsOf(match[3] ?? "")),
  ),
  rule(String.raw`${TEXT}\s?%\s?\(((?:["'][^"'\n]{0,200}["']\s?,?\s?){1,32})\)`, (match) =>
    formatted(textIn(match, 1).replaceAll("%s", "{}"), itemsOf(match[3] ?? "")),
  ),
  // ''.join(['cu', 'rl']), ['cu', 'rl'].join(''), join('', 'cu', 'rl'), -join ('cu', 'rl')
  rule(String.raw`${TEXT}\.join\(${LIST}\)`, (match) =>
    literal(itemsOf(match[3] ?? "").join(textIn(match, 1))),
  ),
  rule(String.raw`${LIST}\.join\(?\s?${TEXT}\s?\)?`, (match) =>
    literal(itemsOf(match[1] ?? "").join(textIn(match, 2))),
  ),
  rule(
    String.raw`\bjoin\(?\s?${TEXT}\s?,\s?((?:["'][^"'\n]{0,200}["']\s?,?\s?){2,64})\)?`,
    (match) => literal(itemsOf(match[3] ?? "").join(textIn(match, 1))),
  ),
  rule(
    String.raw`(?:-join\s?\(?|${LIST}\s?-join\s?["']{2})((?:["'][^"'\n]{0,200}["']\s?,?\s?){2,64})?\)?`,
    (match) => {
      const items = itemsOf(match[1] ?? match[2] ?? "");
      return items.length < 2 ? null : literal(items.join(""));
    },
  ),
  // 'lruc'[::-1], 'lruc'.reverse, strrev('lruc'), 'lruc'.split('').reverse().join('')
  rule(
    String.raw`${TEXT}(?:\[::-1\]|\.reverse\b(?!\()|\.split\(["']{0,2}\)\.reverse\(\)\.join\(["']{0,2}\)|\[-1\s?\.\.\s?-\d{1,4}\](?:\s?-join\s?["']{2})?)`,
    (match) => literal(reversed(textIn(match, 1))),
  ),
  rule(
    String.raw`(?:\[\.\.\.\s?${TEXT}\]|Array\.from\(${TEXT}\))\.reverse\(\)\.join\(["']{0,2}\)`,
    (match) => literal(reversed(textIn(match, 1) + textIn(match, 3))),
  ),
  rule(
    String.raw`(?:\b(?:strrev|reverse|scalar reverse)\b|["']{2}\.join\(reversed)\s?\(?\s?(?:\(|scalar )?${TEXT}\)?\)?`,
    (match) => literal(reversed(textIn(match, 1))),
  ),
  // 'cXuXrXl'.replace('X', '')
  rule(
    String.raw`${TEXT}\s?(?:\.(?:replace(?:All)?|gsub)\(|-c?replace\s)\s?(?:/([^/\n]{1,12})/g?|["']([^"'\n]{1,12})["'])\s?,\s?["']([^"'\n]{0,12})["']\s?\)?`,
    (match) => literal(textIn(match, 1).replaceAll(match[3] ?? match[4] ?? "\n", match[5] ?? "")),
  ),
  // Arguments of decoders.
  rule(
    String.raw`(?:b64decode|decodebytes|urlsafe_b64decode|\batob|base64_decode|decode64|decode_base64|FromBase64String)\(\s?b?${TEXT}\s?\)`,
    (match) => decoded(fromBase64(textIn(match, 1))),
  ),
  rule(
    String.raw`Buffer\.from\(\s?${TEXT}\s?,\s?["'](base64|hex)(?:url)?["']\s?\)(?:\.toString\([^)]{0,12}\))?`,
    (match) => decoded((match[3] === "hex" ? fromHex : fromBase64)(textIn(match, 1))),
  ),
  rule(
    String.raw`(?:fromhex|unhexlify|hex2bin|a2b_hex)\(\s?b?${TEXT}\s?\)|\bpack\(?\s?["']H\*["']\s?,\s?${TEXT}\s?\)?`,
    (match) => decoded(fromHex(textIn(match, 1) + textIn(match, 3))),
  ),
  rule(String.raw`\[\s?${TEXT}\s?\]\.pack\(?\s?["'](H|m)\d?\*?["']\s?\)?`, (match) =>
    decoded((match[3] === "H" ? fromHex : fromBase64)(textIn(match, 1))),
  ),
  rule(String.raw`${TEXT}\.unpack1?\(?\s?["']m0?["']\s?\)?`, (match) =>
    decoded(fromBase64(textIn(match, 1))),
  ),
  rule(
    String.raw`(?:codecs\.decode|str_rot13|rot13)\(\s?${TEXT}\s?(?:,\s?["']rot_?-?13["'])?\s?\)`,
    (match) => literal(rot13(textIn(match, 1))),
  ),
  rule(String.raw`${TEXT}\.tr\(\s?["']([\w-]{3,52})["']\s?,\s?["'][\w-]{3,52}["']\s?\)`, (match) =>
    literal(rot13(textIn(match, 1))),
  ),
  rule(
    String.raw`(?:unquote(?:_plus)?|decodeURI(?:Component)?|unescape|urldecode|UrlDecode)\(\s?${TEXT}\s?\)`,
    (match) => literal(withoutEscapes(textIn(match, 1))),
  ),
];

/** Worth folding: a sign between texts, or one of the calls above. */
const FOLDABLE =
  /["']\s{0,3}(?:[+.&]|\.\.|\|\||-f\b|%\s?\()\s{0,3}["'[(]|\.join|-join|join\(|chr|char|reverse|rev\(|replace|gsub|decode|atob|\.from|fromhex|unhexlify|hex2bin|a2b_hex|pack|rot13|Base64|unquote|unescape|format\(|-f\s|\w["'] ["']\w|\\x[\da-f]{2}|\\u00|\\[01]\d\d/i;
const ESCAPES = /\\x[\da-f]{2}|\\u\{?00[\da-f]{2}|\\[01][0-7]{2}/i;
const MAX_ROUNDS = 6;
const MAX_LINE = 16 * 1024;
/** Matches a name in an expression that is not a key, a member or a call. */
const NAME = /(?<![\w.$"'`/@-])\$?([A-Za-z_]\w{0,60})(?!\w|\s?[:=(](?!=)|["'`])/g;

/** A line of code in which expressions of constants are their values; the same line where there are none. */
export function foldConstants(line: string, constants: Constants): string {
  if (line.length > MAX_LINE) return line;
  let text = constants.size === 0 ? line : withConstants(line, constants);
  // PowerShell's escape, in the middle of a word.
  if (/[a-z]`[a-z]/i.test(text)) text = text.replaceAll(/(?<=[a-z])`(?=[a-z])/gi, "");
  if (!FOLDABLE.test(text)) return text;
  if (ESCAPES.test(text)) text = withoutEscapes(text);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    let next = text;
    for (const [pattern, fold] of FOLDS) {
      next = next.replaceAll(pattern, (...all) => {
        const groups = all.slice(
          0,
          all.findIndex((one) => typeof one === "number"),
        ) as RegExpExecArray; // exec returns this type
        return fold(groups) ?? groups[0];
      });
    }
    if (next === text || next.length > MAX_LINE) break;
    text = next;
  }
  return text;
}

function withConstants(line: string, constants: Constants): string {
  const valueOf = (name: string) => {
    const value = constants.get(name);
    return value === undefined || value.length > 2_000 || /["'\n\\]/.test(value) ? null : value;
  };
  // f"…{name}…", `…${name}…`, "…#{name}…", "…$name…"
  const filled = line.replaceAll(
    /[$#]?\{([A-Za-z_]\w{0,60})\}|\$([A-Za-z_]\w{0,60})(?=[/.:\w"'])/g,
    (written, braced?: string, plain?: string) => valueOf(braced ?? plain ?? "") ?? written,
  );
  return filled.replaceAll(NAME, (written, name: string) => {
    const value = valueOf(name);
    return value === null ? written : `"${value}"`;
  });
}

function rule(source: string, fold: Fold[1]): Fold {
  return [new RegExp(source, "gi"), fold];
}

/** The text at one of the two groups that each text has. */
function textIn(match: RegExpExecArray, group: number): string {
  return match[group] ?? match[group + 1] ?? "";
}

function literal(text: string): string {
  return text.includes('"') ? `'${text.replaceAll("'", "")}'` : `"${text}"`;
}

function decoded(text: string | null): string | null {
  return text === null ? null : literal(text.replaceAll(/[\n\r\\]/g, " "));
}

function characters(codes: readonly string[]): string | null {
  const numbers = codes.map((code) => Number(code.trim()));
  const text =
    numbers.length === 1 && (numbers[0] ?? 0) > 31 && (numbers[0] ?? 0) < 127
      ? String.fromCharCode(...numbers)
      : fromCodes(numbers);
  return text === null || text.includes("\n") || text.includes("\\") ? null : literal(text);
}

function itemsOf(list: string): string[] {
  return [...list.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)].map(
    ([, double, single]) => double ?? single ?? "",
  );
}

function formatted(format: string, items: readonly string[]): string {
  let next = 0;
  return literal(
    format.replaceAll(
      /\{(\d{0,2})\}/g,
      (_all, index: string) => items[index === "" ? next++ : Number(index)] ?? "",
    ),
  );
}
