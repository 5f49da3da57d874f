import { CREDENTIAL_HINTS, STRONG_CREDENTIALS, TOOL_CREDENTIALS } from "../credentials.ts";
import { codeAround, linesAround } from "../near.ts";
import type { PatternRule } from "../pattern-rule.ts";
import { isDrop, isUntrusted, type Places } from "../places.ts";
import type { ScannedText } from "../scanned-text.ts";

/** Whatever can carry data away. */
const SENDS =
  /\b(?:curl|wget|nc|ncat|netcat|scp|rsync|sftp|iwr|irm|dig|nslookup)\b|invoke-(?:webrequest|restmethod)|\b(?:requests|httpx|axios|session|client|http|https)\.(?:post|put|patch|request|get)\b|\bfetch\(|urlopen|urllib|http\.client|sendbeacon|xmlhttprequest|socket\.|net\/http|uploadfile|uploadstring/i;
const ALL_VARIABLES =
  /\benv\b[ \t]{0,3}[|)>]|\bprintenv\b|json\.stringify\(process\.env|dict\(os\.environ|os\.environ\.(?:copy|items)|get-childitem env:|gci env:/i;
const READS_DOT_ENV = /(?:@|cat |open\(["']|readFileSync\(["']|<[ ]?)[^\n"']{0,60}\.env\b/i;
/** To log in with a key is not to read it. */
const USES_KEY =
  /(?:\s-i|IdentityFile|ssh-add|ssh-keygen[^\n]{0,40} -f)[ =]["']?[\w~$/{}.-]{4,80}/g;
const ASSIGNS = /[=:]\s{0,3}["']?[\w./:-]{4,100}["']?[;,]?\s*$/;
const NEAR_LINES = 20;

const THEFT = {
  code: "credential_theft",
  owasp: "AST01",
  severity: "critical",
  confidence: "high",
  blocks: true,
  message: "sends credentials to a place where anybody can pick them up",
  advice: "do not use the skill, and report it",
} as const;

/** Data that leaves the machine, and where it goes. */
export function dataTheft(places: Places, dropHosts: readonly string[]): readonly PatternRule[] {
  /** Credentials, near a line that sends to a place nobody answers for. */
  const toUntrusted = (match: RegExpExecArray, text: ScannedText) => {
    const line = linesAround(text, match.index, { before: 0, after: 0 });
    const isCommand = SENDS.test(line) || ASSIGNS.test(line);
    if (!places.in(line, isCommand).some(isUntrusted)) return null;
    const near = codeAround(text, match.index, NEAR_LINES);
    return SENDS.test(near) && namesCredentials(near) ? {} : null;
  };
  return [
    {
      code: "drop_host",
      owasp: "AST05",
      severity: "medium",
      confidence: "medium",
      hints: dropHosts.filter((host) => host.length >= 4),
      pattern: /[A-Za-z0-9.-]{4,40}(?:\/[^\s)"'>]{0,80})?/iy,
      isProse: true,
      message: "names a host where anybody leaves or picks up data without a name",
      advice: "use a host whose owner is known",
      judge: (match, text) => (isDrop(places.of(hostAround(text, match.index)).kind) ? {} : null),
    },
    {
      ...THEFT,
      hints: dropHosts.filter((host) => host.length >= 4),
      pattern: /[A-Za-z0-9.-]{4,40}/iy,
      judge: toUntrusted,
    },
    {
      ...THEFT,
      hints: ["http://", "ftp://"],
      pattern: /(?:http|ftp):\/\/\[?[\dA-Fa-fx.:]{6,60}/iy,
      judge: toUntrusted,
    },
    {
      code: "credential_file",
      owasp: "AST03",
      severity: "medium",
      confidence: "medium",
      hints: CREDENTIAL_HINTS,
      pattern: /[^\n]{4,80}/iy,
      isProse: true,
      message: "names a file that holds credentials",
      advice: "give the skill a secret of its own instead of the user's",
      judge: (_match, text) => (text.kind === "data" ? null : {}),
    },
    {
      code: "credential_upload",
      owasp: "AST01",
      severity: "high",
      confidence: "high",
      hints: CREDENTIAL_HINTS,
      pattern: /[^\n]{4,80}/iy,
      message: "sends a file that holds credentials",
      advice: "give the skill a secret of its own instead of the user's",
      judge: (match, text) => uploads(match, text, places),
    },
  ];
}

/** Sends the file that is named here: as what is uploaded, or through a variable or a pipe. */
function uploads(
  match: RegExpExecArray,
  text: ScannedText,
  places: Places,
): { blocks?: boolean; severity?: "critical" } | null {
  const line = linesAround(text, match.index, { before: 0, after: 0 });
  const near = linesAround(text, match.index, { before: 0, after: 12 });
  const name =
    /(?:^|[\s;(])(?:export |const |let |var |local |\$)?(\w{1,40})[ \t]{0,2}=[^\n=]/.exec(
      line,
    )?.[1];
  const isSent =
    UPLOADS_PATH.test(line) ||
    (name !== undefined &&
      [...near.matchAll(UPLOADS_NAME)].some((one) => (one[1] ?? one[2]) === name));
  if (!isSent) return null;
  const isUntrustedPlace = places.in(near, true).some(isUntrusted);
  return isUntrustedPlace || STRONG_CREDENTIALS.test(line)
    ? { severity: "critical", blocks: true }
    : {};
}

const UPLOADS_PATH =
  /(?:curl|wget|iwr|irm|invoke-\w{10})[^\n]{0,300}(?:@["']?[~$/\w.{}-]{0,60}\.(?:ssh|aws|gnupg|openclaw|clawdbot|moltbot|claude|codex|gemini|config|git-credentials)|(?:-T|--upload-file|--post-file|-InFile)[ =]["']?[~$/\w.{}-]{0,60}\.|\$\((?:cat|base64|<)[^\n)]{0,60}\.)|\b(?:cat|base64|tar|zip|gzip)\b[^\n]{0,200}\|[^\n]{0,120}\b(?:curl|nc|ncat|wget)\b|\bnc\b[^\n]{0,80}<|requests\.(?:post|put)\([^\n]{0,200}open\(|\b(?:scp|rsync)\b[^\n]{0,120}@/i;
const UPLOADS_NAME =
  /(?:curl|wget|nc|ncat|requests\.(?:post|put)|httpx\.(?:post|put)|fetch|axios\.(?:post|put))[^\n]{0,300}?(?:@["']?\$\{?(\w{1,40})|(?:-T|--post-file|--upload-file)[ =]["']?\$\{?(\w{1,40}))/gi;

function namesCredentials(lines: string): boolean {
  const near = lines.replaceAll(USES_KEY, "");
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
