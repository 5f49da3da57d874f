import { STRONG_CREDENTIALS, TOOL_CREDENTIALS } from "../credentials.ts";
import { namesSource } from "../flow/sources-and-sinks.ts";
import { codeAround, spanAround } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import { isDrop, isUntrusted, type Destinations } from "../destinations.ts";
import { perText, type ScannedText } from "../scanned-text.ts";

/** Commands and functions that can send data away. */
const SENDS =
  /\b(?:curl|wget|nc|ncat|netcat|scp|rsync|sftp|iwr|irm|dig|nslookup)\b|invoke-(?:webrequest|restmethod)|\b(?:requests|httpx|axios|session|client|http|https)\.(?:post|put|patch|request|get)\b|\bfetch\(|urlopen|urllib|http\.client|sendbeacon|xmlhttprequest|socket\.|net\/http|uploadfile|uploadstring/i;
const ALL_VARIABLES =
  /(?:^|[;&(`]|\|\s?)\s*(?:env|printenv)[ \t]{0,3}(?:[|)>`]|$)|JSON\.stringify\(process\.env\)|dict\(os\.environ|os\.environ\.(?:copy|items)|(?:get-childitem|gci) env:/;
const READS_DOT_ENV = /(?:@|cat |open\(["']|readFileSync\(["']|<[ ]?)[^\n"']{0,60}\.env\b/i;
/** A command that logs in with a key does not read it. */
const USES_KEY =
  /(?:(?:\s|^)-i|IdentityFile|ssh-add|ssh-keygen[^\n]{0,40} -f)[ =]["']?[\w~$/{}.-]{4,80}/g;
const ASSIGNS = /[=:]\s{0,3}["']?[\w./:-]{4,100}["']?[;,]?\s*$/;
const NEAR_LINES = 20;
const ONE_LINE = { before: 0, after: 0 };
const MAX_LINE = 1_200;

type Checks = Readonly<
  Record<"namesDropHost" | "sendsCredentials" | "notInData" | "namesSecret", Check>
>;

/** Checks for data that leaves the machine, and for its destination. */
export function dataTheft(destinations: Destinations): Checks {
  return {
    namesDropHost: (match, text) =>
      isDrop(destinations.of(hostAround(text, match.index)).kind) ? {} : null,
    /** Matches credentials near a line that sends to an untrusted destination. */
    sendsCredentials(match, text) {
      const span = spanAround(text, match.index, ONE_LINE);
      const line = text.text.slice(span.start, span.end);
      const isCommand = SENDS.test(line) || ASSIGNS.test(line);
      if (!destinations.near(text, span, isCommand).some(isUntrusted)) return null;
      const near = codeAround(text, match.index, NEAR_LINES).map((index) => lineOf(text, index));
      return near.some(({ sends }) => sends) && near.some(({ names }) => names) ? {} : null;
    },
    namesSecret(match, text) {
      const { start, end } = spanAround(text, match.index, ONE_LINE);
      return namesSource(text.text.slice(start, end)) ? {} : null;
    },
    notInData: (_match, text) => (text.kind === "data" ? null : {}),
  };
}

interface LineFacts {
  readonly sends: boolean;
  readonly names: boolean;
}

/** Each line is read once, however many checks are near it. */
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
