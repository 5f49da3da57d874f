import { STRONG_CREDENTIALS, TOOL_CREDENTIALS } from "../credentials.ts";
import { codeAround, spanAround } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import { isDrop, isUntrusted, type Destinations } from "../destinations.ts";
import { perText, type ScannedText } from "../scanned-text.ts";
import { sequence } from "../sequence.ts";

/** Whatever can carry data away. */
const SENDS =
  /\b(?:curl|wget|nc|ncat|netcat|scp|rsync|sftp|iwr|irm|dig|nslookup)\b|invoke-(?:webrequest|restmethod)|\b(?:requests|httpx|axios|session|client|http|https)\.(?:post|put|patch|request|get)\b|\bfetch\(|urlopen|urllib|http\.client|sendbeacon|xmlhttprequest|socket\.|net\/http|uploadfile|uploadstring/i;
const ALL_VARIABLES =
  /\benv\b[ \t]{0,3}[|)>]|\bprintenv\b|json\.stringify\(process\.env|dict\(os\.environ|os\.environ\.(?:copy|items)|get-childitem env:|gci env:/i;
const READS_DOT_ENV = /(?:@|cat |open\(["']|readFileSync\(["']|<[ ]?)[^\n"']{0,60}\.env\b/i;
/** To log in with a key is not to read it. */
const USES_KEY =
  /(?:(?:\s|^)-i|IdentityFile|ssh-add|ssh-keygen[^\n]{0,40} -f)[ =]["']?[\w~$/{}.-]{4,80}/g;
const ASSIGNS = /[=:]\s{0,3}["']?[\w./:-]{4,100}["']?[;,]?\s*$/;
const NEAR_LINES = 20;
const ONE_LINE = { before: 0, after: 0 };
const MAX_LINE = 1_200;

type Checks = Readonly<
  Record<"namesDropHost" | "sendsCredentials" | "notInData" | "uploadsCredentials", Check>
>;

/** Data that leaves the machine, and where it goes. */
export function dataTheft(destinations: Destinations): Checks {
  return {
    namesDropHost: (match, text) =>
      isDrop(destinations.of(hostAround(text, match.index)).kind) ? {} : null,
    /** Credentials, near a line that sends to a destination nobody answers for. */
    sendsCredentials(match, text) {
      const span = spanAround(text, match.index, ONE_LINE);
      const line = text.text.slice(span.start, span.end);
      const isCommand = SENDS.test(line) || ASSIGNS.test(line);
      if (!destinations.near(text, span, isCommand).some(isUntrusted)) return null;
      const near = codeAround(text, match.index, NEAR_LINES).map((index) => lineOf(text, index));
      return near.some(({ sends }) => sends) && near.some(({ names }) => names) ? {} : null;
    },
    notInData: (_match, text) => (text.kind === "data" ? null : {}),
    uploadsCredentials: (match, text) => uploads(match, text, destinations),
  };
}

/** Sends the file that is named here: as what is uploaded, or through a variable or a pipe. */
function uploads(
  match: RegExpExecArray,
  text: ScannedText,
  destinations: Destinations,
): { blocks?: boolean; severity?: "critical" } | null {
  const span = spanAround(text, match.index, ONE_LINE);
  const line = text.text.slice(span.start, span.end);
  const below = spanAround(text, match.index, { before: 0, after: 12 });
  const name =
    /(?:^|[\s;(])(?:export |const |let |var |local |\$)?(\w{1,40})[ \t]{0,2}=[^\n=]/.exec(
      line,
    )?.[1];
  const isSent =
    UPLOADS_PATH.some((way) => way(text, span).length > 0) ||
    (name !== undefined &&
      UPLOADS_NAME(text, below).some((offset) => nameAt(text, offset) === name));
  if (!isSent) return null;
  const isUntrustedDestination = destinations.near(text, below, true).some(isUntrusted);
  return isUntrustedDestination || STRONG_CREDENTIALS.test(line)
    ? { severity: "critical", blocks: true }
    : {};
}

/** A file that is sent: as what is uploaded, or through a pipe. */
const UPLOADS_PATH = [
  sequence([
    { pattern: /curl|wget|iwr|irm|invoke-\w{10}/, within: 0 },
    {
      pattern:
        /@(?=["']?[~$/\w.{}-]{0,60}\.(?:ssh|aws|gnupg|openclaw|clawdbot|moltbot|claude|codex|gemini|config|git-credentials))|(?:-T|--upload-file|--post-file|-InFile)(?=[ =]["']?[~$/\w.{}-]{0,60}\.)|\$\((?=(?:cat|base64|<)[^\n)]{0,60}\.)/,
      within: 300,
    },
  ]),
  sequence([
    { pattern: /\b(?:cat|base64|tar|zip|gzip)\b/, within: 0 },
    { pattern: /\|/, within: 200 },
    { pattern: /\b(?:curl|nc|ncat|wget)\b/, within: 120 },
  ]),
  sequence([
    { pattern: /\bnc\b/, within: 0 },
    { pattern: /</, within: 80 },
  ]),
  sequence([
    { pattern: /requests\.(?:post|put)\(/, within: 0 },
    { pattern: /open\(/, within: 200 },
  ]),
  sequence([
    { pattern: /\b(?:scp|rsync)\b/, within: 0 },
    { pattern: /@/, within: 120 },
  ]),
];
/** The same through a variable. */
const UPLOADS_NAME = sequence([
  {
    pattern:
      /curl|wget|nc|ncat|requests\.(?:post|put)|httpx\.(?:post|put)|fetch|axios\.(?:post|put)/,
    within: 0,
  },
  {
    pattern: /@(?=["']?\$\{?\w)|(?:-T|--post-file|--upload-file)(?=[ =]["']?\$\{?\w)/,
    within: 300,
  },
]);
const NAME = /(?:@|-T[ =]|--[a-z]{4,6}-file[ =])["']?\$\{?(\w{1,40})/iy;

function nameAt({ text }: ScannedText, offset: number): string | undefined {
  NAME.lastIndex = offset;
  return NAME.exec(text)?.[1];
}

interface LineFacts {
  readonly sends: boolean;
  readonly names: boolean;
}

/** Each line is read once, however many looks are near it. */
const knownLines = perText(() => new Map<number, LineFacts>());

function lineOf(text: ScannedText, index: number): LineFacts {
  const known = knownLines(text);
  const line = text.lineAt(index).slice(0, MAX_LINE);
  const facts = known.get(index) ?? { sends: SENDS.test(line), names: namesCredentials(line) };
  known.set(index, facts);
  return facts;
}

function namesCredentials(line: string): boolean {
  const near = line.replaceAll(USES_KEY, "");
  return (
    STRONG_CREDENTIALS.test(near) ||
    TOOL_CREDENTIALS.test(near) ||
    ALL_VARIABLES.test(near) ||
    READS_DOT_ENV.test(near)
  );
}

/** The whole host name that an offset is part of. */
function hostAround({ text }: ScannedText, offset: number): string {
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
