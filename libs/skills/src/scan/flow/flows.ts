import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import { isUntrusted, type Destinations } from "../destinations.ts";
import { findingIn, type RuleFacts } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";
import type { Arrival } from "./following.ts";
import { namesSource } from "./sources-and-sinks.ts";
import { statementsOf, type Statement } from "./statements.ts";
import type { Taint } from "./taint.ts";
import { Walk } from "./walk.ts";

/** The limit for all texts of a skill together; few skills have more. */
const MAX_CODE = 768 * 1024;

/**
 * Tracks secrets, and downloads from untrusted hosts, through the variables, files and functions of a skill to the commands that
 * send or run them. It over-approximates: every statement that mentions a value has it. `places` are the files that name an
 * untrusted host.
 */
export function flowsIn(
  texts: readonly ScannedText[],
  { destinations, places }: { destinations: Destinations; places: ReadonlySet<string> },
): ScanFinding[] {
  const code = texts.filter(({ kind }) => kind !== "data");
  const hasSecret = new Set(code.filter(({ text }) => namesSource(text)).map(({ file }) => file));
  if (hasSecret.size === 0 && places.size === 0) return [];
  // The files where a flow begins are read first.
  const ordered = code.toSorted((one, other) => rank(one) - rank(other));
  function rank({ file }: ScannedText): number {
    return hasSecret.has(file) || places.has(file) ? 0 : 1;
  }
  const statements: Statement[] = [];
  let size = 0;
  for (const text of ordered) {
    size += text.text.length;
    if (size > MAX_CODE) break;
    statements.push(...statementsOf(text));
  }
  const known = new Map<string, boolean>();
  const isSeed = ({ text, file }: Statement) => {
    const key = `${file}\n${text}`;
    const is =
      known.get(key) ??
      ((hasSecret.has(file) && namesSource(text)) ||
        (places.has(file) && destinations.in(text, true).some(isUntrusted)));
    known.set(key, is);
    return is;
  };
  const walk = new Walk(statements, { destinations, mayFetch: places.size > 0 });
  const isWhole = walk.from(statements.flatMap((one, index) => (isSeed(one) ? [index] : [])));
  const findings = findingsOf(walk.arrivals());
  return isWhole && size <= MAX_CODE ? findings : [...findings, tooMuch(ordered[0]?.file ?? "")];
}

function tooMuch(file: string): ScanFinding {
  return findingIn(file, "", {
    code: "too_much_to_follow",
    owasp: "AST08",
    severity: "medium",
    confidence: "high",
    message: "has more code than where its values go is followed in",
    advice: "make the skill's scripts shorter, or leave out what it does not need",
  });
}

/** The limit counts blocking findings and others apart, so that others never displace a blocking one. */
const MAX_FINDINGS = 10;

function findingsOf(arrivals: Iterable<Arrival>): ScanFinding[] {
  const blocking = new Map<string, ScanFinding>();
  const others = new Map<string, ScanFinding>();
  for (const arrival of arrivals) {
    if (blocking.size >= MAX_FINDINGS) break;
    const facts = factsOf(arrival);
    if (facts === null) continue;
    const { at } = arrival;
    const found = facts.blocks === true ? blocking : others;
    const key = `${facts.code} ${facts.severity} ${at.file} ${at.line}`;
    if (found.has(key) || found.size >= MAX_FINDINGS) continue;
    found.set(key, { ...findingIn(at.file, at.text, facts), line: at.line, column: 1 });
  }
  return [...blocking.values(), ...others.values()];
}

type Facts = RuleFacts & { readonly blocks?: boolean };

/** The finding depends on the value that arrives and on the sink. */
function factsOf({ sink, taints, to }: Arrival): Facts | null {
  if (sink === "execution") return taints.some(isUntrustedDownload) ? RUNS_UNTRUSTED : null;
  const secret = (["key", "token", "environment"] as const).find((label) =>
    taints.some((taint) => taint.label === label),
  );
  if (secret === undefined) return null;
  if (sink === "clipboard") return secret === "environment" ? null : COPIES;
  if (to.some(isUntrusted)) return STEALS;
  if (secret === "key") return UPLOADS_KEY;
  if (to.length > 0 && to.every(({ host }) => isLocal(host))) return null;
  return secret === "token" ? UPLOADS_TOKEN : UPLOADS_ENVIRONMENT;
}

function isUntrustedDownload({ label, from }: Taint): boolean {
  return label === "download" && from !== undefined && isUntrusted(from);
}

function isLocal(host: string): boolean {
  return /^(?:localhost|127\.|0\.0\.0\.0|\[::1\])/.test(host);
}

const RUNS_UNTRUSTED: Facts = {
  code: "remote_execution_from_drop",
  owasp: "AST02",
  severity: "critical",
  confidence: "high",
  blocks: true,
  message: "runs what it fetches from a bare address, a paste site or a known attacker",
  advice: "download it, read it, pin its digest, and only then run it",
};
const SECRET = {
  owasp: "AST01",
  advice: "give the skill a secret of its own instead of the user's",
} as const;
const STEALS: Facts = {
  ...SECRET,
  code: "credential_theft",
  severity: "critical",
  confidence: "high",
  blocks: true,
  message: "sends credentials to a public location",
  advice: "do not use the skill, and report it",
};
const UPLOADS_KEY: Facts = {
  ...SECRET,
  code: "credential_upload",
  severity: "critical",
  confidence: "high",
  blocks: true,
  message: "sends a file that holds keys or passwords",
};
const UPLOADS_TOKEN: Facts = {
  ...SECRET,
  code: "credential_upload",
  severity: "high",
  confidence: "medium",
  message: "sends a file that holds credentials of a tool",
};
const UPLOADS_ENVIRONMENT: Facts = {
  ...SECRET,
  code: "environment_upload",
  severity: "high",
  confidence: "medium",
  message: "sends all environment variables",
  advice: "send only what the task needs, by name",
};
const COPIES: Facts = {
  ...SECRET,
  code: "credential_copy",
  owasp: "AST03",
  severity: "medium",
  confidence: "medium",
  message: "puts credentials into the clipboard, which every program reads",
  advice: "name the file, and let the user copy what is needed",
};
