import type { ScanFinding } from "@switchyard/contracts/skill-scan";
import { isUntrusted, type Destination, type Destinations } from "../destinations.ts";
import { findingIn, type RuleFacts } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";
import { followCode } from "./follow-code.ts";
import { followShell } from "./follow-shell.ts";
import { namesSource } from "./sources-and-sinks.ts";
import type { Arrival, Following } from "./following.ts";
import { statementsOf, type Statement } from "./statements.ts";
import { Taints, type Taint } from "./taint.ts";

/** A value may be passed on by a function that is defined below its use, in another file. */
const MAX_PASSES = 4;

/**
 * Follows what is secret, and what was fetched from a place nobody answers for, over the variables, files and functions
 * of a skill to where it is sent or run. Over-approximates: whatever mentions a value has it.
 */
export function flowsIn(
  texts: readonly ScannedText[],
  { destinations, mayFetch }: { destinations: Destinations; mayFetch: boolean },
): ScanFinding[] {
  const code = texts.filter(({ kind }) => kind !== "data");
  if (!mayFetch && !code.some(({ text }) => namesSource(text))) return [];
  const statements = code.flatMap((text) => statementsOf(text));
  if (!mayFetch && !statements.some(({ text }) => namesSource(text))) return [];
  const taints = new Taints();
  const functions = new Map<string, readonly string[]>();
  const connections = new Map<string, readonly Destination[]>();
  let arrivals: Arrival[] = [];
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    taints.isChanged = false;
    arrivals = [];
    const arrive = (arrival: Arrival) => arrivals.push(arrival);
    followAll(statements, { taints, destinations, mayFetch, functions, connections, arrive });
    if (!taints.isChanged) break;
  }
  return findingsOf(arrivals);
}

function followAll(
  statements: readonly Statement[],
  given: Pick<
    Following,
    "taints" | "destinations" | "mayFetch" | "functions" | "connections" | "arrive"
  >,
): void {
  let file = "";
  let block = -1;
  let following: Following = { ...given, current: null, here: [] };
  for (const statement of statements) {
    if (statement.file !== file) {
      following = { ...given, current: null, here: [] };
    } else if (statement.block !== block) {
      following.here = [];
    }
    ({ file, block } = statement);
    if (statement.kind === "shell") followShell(statement, following);
    else followCode(statement, following);
  }
}

const MAX_FINDINGS = 20;

function findingsOf(arrivals: readonly Arrival[]): ScanFinding[] {
  const found = new Map<string, ScanFinding>();
  for (const arrival of arrivals) {
    const facts = factsOf(arrival);
    if (facts === null) continue;
    const { at } = arrival;
    const key = `${facts.code} ${facts.severity} ${at.file} ${at.line}`;
    if (found.has(key) || found.size >= MAX_FINDINGS) continue;
    found.set(key, { ...findingIn(at.file, at.text, facts), line: at.line, column: 1 });
  }
  return [...found.values()];
}

type Facts = RuleFacts & { readonly blocks?: boolean };

/** What an arrival means: what it is, and where it arrives. */
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
  message: "sends credentials to a place where anybody can pick them up",
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
