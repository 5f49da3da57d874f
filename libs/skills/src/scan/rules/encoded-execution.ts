import { beginningIn, spanAround, type Span } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import { isUntrusted, type Destinations } from "../destinations.ts";
import { perText, type ScannedText } from "../scanned-text.ts";
import { mayBeBase64Text, reversed } from "../plain/ciphers.ts";
import { sequence } from "../sequence.ts";

const LITERAL = /[A-Za-z0-9+/_-]{20,8000}={0,2}|(?:\\x[\da-fA-F]{2}){8,2000}/g;
const MAX_LITERALS = 12;
const FETCHES =
  /\b(?:curl|wget|iwr|irm|invoke-(?:webrequest|restmethod)|downloadstring|downloadfile|bitsadmin|certutil|urlopen|requests\.get|fetch\()|\/dev\/(?:tcp|udp)\/|https?:\/\//i;
/** A fetching command without a source does nothing. */
const FROM_SOMEWHERE =
  /:\/\/|\$\w|\/dev\/(?:tcp|udp)\/|(?:[\w-]+\.)+[a-z]{2,}|\d{1,3}(?:\.\d{1,3}){3}/i;
const RUNS =
  /\|\s{0,4}(?:sudo )?(?:ba|z|da)?sh\b|\b(?:ba|z|da)?sh (?:-\w{1,3} )?(?:-c|<)|\$\(|<\(|\b(?:eval|exec)\b|\biex\b|invoke-expression|\bsystem\(|subprocess|chmod \+|\/dev\/tcp|osascript/i;
const INTO_SHELL = /\|[ \t]{0,4}(?:sudo (?:-\w )?)?(?:\/(?:usr\/)?bin\/)?(?:(?:ba|z|da|k)?sh|iex|python[\d.]{0,4}|perl|node|osascript)\b/i; // prettier-ignore

/** Checks for commands whose written form is unreadable. */
export function encodedExecution(
  destinations: Destinations,
): Readonly<Record<"runsDecoded" | "runsEncoded", Check>> {
  const literals = literalsOf(destinations);
  /** Runs something hidden when one of the texts near by decodes to a command that fetches something. */
  const checkFor =
    (runs: boolean): Check =>
    (match, text) => {
      const span = spanAround(text, match.index, { before: 6, after: 6 });
      const near = text.text.slice(span.start, span.end);
      const isRun = runs || INTO_SHELL.test(near);
      const around = [longLine(text, match.index), span];
      const isDownloader = around.some((part) =>
        literals(text, part).some(({ says }) => says.runs || (isRun && says.fetches)),
      );
      if (isDownloader) return DOWNLOADER;
      return runs || RUNS_DECODED.some((way) => way(text, span).length > 0) ? {} : null;
    };
  return { runsDecoded: checkFor(false), runsEncoded: checkFor(true) };
}

const DOWNLOADER = {
  code: "encoded_downloader",
  severity: "critical",
  confidence: "high",
  blocks: true,
  message: "hides a command that downloads something, and runs it",
} as const;

/** The literal of an encoded command may be long. */
function longLine(text: ScannedText, offset: number): Span {
  const index = text.lineIndexAt(offset);
  return {
    start: Math.max(text.startOf(index), offset - 9_000),
    end: Math.min(text.startOf(index + 1), offset + 9_000),
  };
}

/** Matches only a decoder whose output is passed to a shell or an `eval`. */
const RUNS_DECODED = [
  sequence(
    [
      {
        pattern: /base64[ \t]{1,4}(?:-d|-D|--decode|-di)\b|xxd -r|openssl (?:enc )?-?base64 -d/,
        within: 0,
      },
      {
        pattern:
          /\|(?=[ \t]{0,4}(?:sudo )?(?:\/(?:usr\/)?bin\/)?(?:(?:ba|z|da|k)?sh|python3?|perl|node)\b)/,
        within: 200,
      },
    ],
    /\|/,
  ),
  sequence([
    { pattern: /(?:eval|(?:ba|z)?sh -c)[ \t]{1,3}["']?(?:\$\(|`)/, within: 0 },
    { pattern: /base64[ \t]{1,4}(?:-d|-D|--decode)/, within: 300 },
  ]),
];

interface Literal {
  readonly offset: number;
  /** True when the decoded text fetches, or runs something. */
  readonly says: { readonly fetches: boolean; readonly runs: boolean };
}

/** The literals of parts of a text. Each is decoded once, when it is first near something that decodes. */
function literalsOf(destinations: Destinations): (text: ScannedText, part: Span) => Literal[] {
  const says = (literal: string) => {
    const fetching = [...decodedTexts(literal)].filter(
      (decoded) =>
        (FETCHES.test(decoded) && FROM_SOMEWHERE.test(decoded)) ||
        destinations.in(decoded, true).some(isUntrusted),
    );
    return { fetches: fetching.length > 0, runs: fetching.some((decoded) => RUNS.test(decoded)) };
  };
  const literals = perText(({ text }) => {
    const known = new Map<string, Literal["says"]>();
    return Array.from(text.matchAll(LITERAL), ({ 0: literal, index }): Literal => {
      return {
        offset: index,
        get says() {
          const said = known.get(literal) ?? says(literal);
          known.set(literal, said);
          return said;
        },
      };
    });
  });
  return (text, part) => beginningIn(literals(text), part);
}

function* decodedTexts(near: string, depth = 0): Generator<string> {
  let seen = 0;
  for (const [literal] of near.matchAll(LITERAL)) {
    if (seen >= MAX_LITERALS) return;
    seen += 1;
    for (const decoded of decodings(literal)) {
      yield decoded;
      if (depth < 2) yield* decodedTexts(decoded, depth + 1);
    }
  }
}

/** Returns the texts that a literal decodes to. */
function decodings(literal: string): string[] {
  if (literal.startsWith("\\x")) return texts(Buffer.from(literal.replaceAll("\\x", ""), "hex"));
  const isHex = /^(?:[\da-f]{2})+$/i.test(literal);
  const { length } = literal;
  const mayBeText = mayBeBase64Text(length, (index) => literal.charCodeAt(index));
  // `rev` reverses the letters before they are decoded.
  const mayBeReversed = mayBeBase64Text(length, (index) => literal.charCodeAt(length - 1 - index));
  return [
    ...(mayBeText ? texts(Buffer.from(literal, "base64")) : []),
    ...(isHex ? texts(Buffer.from(literal, "hex")) : []),
    ...(mayBeReversed ? texts(Buffer.from(reversed(literal), "base64")) : []),
  ];
}

function texts(bytes: Buffer): string[] {
  // PowerShell's are UTF-16.
  const text = bytes.toString(bytes.includes(0) ? "utf16le" : "utf8");
  return /^[\t\n\r\u0020-\u007E]*$/.test(text.slice(0, 200)) ? [text] : [];
}
