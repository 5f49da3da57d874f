import { isUntrusted, type Destination } from "../destinations.ts";
import type { Following } from "./following.ts";
import { commandsOf, type Statement } from "./statements.ts";
import {
  FETCHES,
  installedBy,
  INSTALLS,
  LOOKS_UP_CODE,
  NAMES_CLIENT,
  OPENS,
  payloadOf,
  RUNS_CODE,
  RUNS_OUTPUT,
  SENDS_CODE,
  sourcesIn,
  TO_CLIPBOARD,
  withoutPatterns,
} from "./sources-and-sinks.ts";
import {
  argumentsOf,
  downloadsFrom,
  filesIn,
  givenTo,
  joined,
  namesIn,
  outputOf,
  variableOf,
  type Taint,
} from "./taint.ts";

const ASSIGNS =
  /^\s*(?:(?:export|const|let|var|my|our|local|static|final|await|private|public)\s+){0,3}(?:[$@]?([A-Za-z_]\w{0,60})(?:\[[^\]\n]{0,60}\]|\.\w{1,40})?|[[({]?\s?(\w[\w\s,:$@]{1,120})[\])}]?)\s{0,3}(?::\s?[\w[\]., |]{1,40})?\s{0,3}[-+.|?:]{0,2}=(?![=>~])/;
/** Assigns a path to a variable for later use. */
const ASSIGNS_PATH =
  /^\s*(?:(?:const|let|var|my|our)\s+)?[$@]?\w+\s{0,3}:?=\s{0,3}f?["'][^"'\n]{3,200}["'];?\s*$/;
const WITH =
  /\b(?:as|for|each|=>)\s+\$?([A-Za-z_]\w{0,60})|\|(\w{1,40})\||\bopen\s?\(?\s?(?:my\s+)?\$(\w{1,40})/g;
const GROWS =
  /^\s*\$?([A-Za-z_]\w{0,60})(?:\.\w+)?\.(?:append|push|extend|add|update|set|write|concat|unshift|insert|put|put_nowait)\(|^\s*push\s*\(?\s*@?(\w{1,60})/;
const WRITES =
  /\.write\w*\(|writefile\w*\(|appendfile\w*\(|write_(?:text|bytes)|\bcopy(?:file|2)?\w*\(|\bopen\([^)\n]{0,120},\s?["'][wax]b?\+?["']|out-file|set-content|add-content|file_put_contents|shutil\.|\.save\(|\.dump\(|urlretrieve|\.pipe\(|createwritestream|downloadfile|-outfile|rename\w*\(|\bprint\s*\{|>{1,2}\s?["']/i;
const LITERAL = /"(?:[^"\\\n]|\\.){0,4000}"|'(?:[^'\\\n]|\\.){0,4000}'|`[^`]{0,4000}`/g;
const CALL = /\b([A-Za-z_]\w{0,60})\s?\(/g;
/** A connection has its own variable, and its sender no address. */
const CONNECTS =
  /\b([A-Za-z_]\w{0,60})\.connect\w*\(|\$?\b([A-Za-z_]\w{0,60})\s?:?=[^=\n]{0,80}(?:connect\w*|Socket|socket|Client|SMTP\w*|FTP\w*|HTTPS?Connection|Dial)\b/;
const RETURNS = /^\s*(?:return|yield|resolve\()\b|=>\s*[^{\s]/;
const ENVIRONMENT =
  /(?:environ(?:\.get\(|\[)|process\.env(?:\.|\[)|getenv\(|ENV\[|\$ENV\{|\$env:)["']?([A-Za-z_]\w{0,60})/g;
const IS_GIVEN =
  /\b(?:sys\.argv|process\.argv|ARGV|sys\.stdin|process\.stdin|fileinput|STDIN|input\(|args\.\w|\$args|argv)/;
const PRINTS =
  /\b(?:print|puts|console\.log|say|echo|write-output|write-host|process\.stdout\.write|sys\.stdout\.write|fmt\.Print\w*)\b/i;
/** A program that needs its environment gets it; that is not sent anywhere. */
const FOR_CHILD = /\benv["']?\s?[=:]\s?(?:\{[^{}]{0,200}\}|[\w.()]{1,60}(?:\([^()]{0,60}\))?)/g;

/** Follows the statements of a line of a program. */
export function followCode(statement: Statement, following: Following): void {
  const parts = statement.text.includes(";") ? partsOf(statement.text) : [statement.text];
  for (const text of parts) followPart({ ...statement, text }, following);
}

/** Split at each `;` outside of brackets and quotes. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const one = text[at] ?? "";
    if (one === "\\") at += 1;
    else if (quote !== "") quote = one === quote ? "" : quote;
    else if (one === '"' || one === "'" || one === "`") quote = one;
    else if (one === "(" || one === "[" || one === "{") depth += 1;
    else if (one === ")" || one === "]" || one === "}") depth -= 1;
    else if (one === ";" && depth <= 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)].filter((part) => part.trim() !== "");
}

function followPart(statement: Statement, following: Following): void {
  const { taints, destinations, functions } = following;
  const { file } = statement;
  const text = withoutPatterns(statement.text.replaceAll(FOR_CHILD, " "));
  const variable = (name: string) => variableOf(file, name);
  const heldBy = (part: string): Taint[] =>
    joined(
      sourcesIn(part, "code")
        .filter((label) => label === "environment" || OPENS.test(part) || ASSIGNS_PATH.test(part))
        .map((label) => ({ label })),
      ...(taints.isEmpty ? [] : namesIn(part).map((name) => taints.of(variable(name)))),
      ...(taints.isEmpty
        ? []
        : filesIn(part).flatMap((name) => [taints.of(name), taints.of(outputOf(name))])),
      ...(taints.isEmpty
        ? []
        : Array.from(part.matchAll(CALL), (match) => taints.of(`function ${match[1] ?? ""}`))),
      ...(taints.isEmpty
        ? []
        : Array.from(part.matchAll(ENVIRONMENT), (match) => taints.of(`env ${match[1] ?? ""}`))),
      IS_GIVEN.test(part) ? taints.of(argumentsOf(file)) : [],
    );
  const held = heldBy(text);
  if (held.length === 0 && !following.mayFetch) return;
  const named = /[.:]/.test(text) ? destinations.in(text, true) : [];
  const connected = CONNECTS.exec(text);
  if (connected !== null && named.length > 0)
    connect(variable(connected[1] ?? connected[2] ?? ""), named, following);
  const to =
    named.length > 0 || following.connections.size === 0
      ? named
      : namesIn(text).flatMap((name) => following.connections.get(variable(name)) ?? []);
  const isFetched = to.some(isUntrusted) && FETCHES.test(text);
  const isCalled = isFetched && FETCHES.test(text.replaceAll(LITERAL, '""'));
  const fetched = isCalled ? downloadsFrom(to) : [];
  // Running a command that fetches is not yet running its output.
  const all = joined(held, isFetched ? downloadsFrom(to) : []);
  if (all.length > 0) {
    const arrive = (
      sink: "network" | "names" | "clipboard" | "execution",
      what: readonly Taint[],
    ) => {
      if (what.length > 0) following.arrive({ at: statement, sink, taints: what, to });
    };
    if (SENDS_CODE.test(text) || (NAMES_CLIENT.test(text) && RUNS_CODE.test(text)))
      arrive(
        "network",
        heldBy(payloadOf(text)).filter(({ label }) => label !== "download"),
      );
    if (LOOKS_UP_CODE.test(text))
      arrive(
        "names",
        held.filter(({ label }) => label !== "download"),
      );
    if (TO_CLIPBOARD.test(text)) arrive("clipboard", held);
    if (RUNS_CODE.test(text) || RUNS_OUTPUT.test(text)) {
      arrive("execution", joined(held, fetched));
      if (isFetched && !isCalled) runLiterals(text, statement, following);
    }
    if (INSTALLS.test(text) && to.some(isUntrusted)) {
      arrive("execution", downloadsFrom(destinations.in(installedBy(text), true)));
    }
    if (WRITES.test(text)) for (const name of filesIn(text)) taints.add(name, all);
    passOn(text, { file, all, following });
    for (const match of text.matchAll(CALL)) {
      for (const parameter of functions.get(givenTo(file, match[1] ?? "")) ?? [])
        taints.add(variable(parameter), all);
    }
    for (const name of filesIn(text))
      if (/\.\w{2,4}$/.test(name) && name !== file) taints.add(argumentsOf(name), held);
    if (PRINTS.test(text)) taints.add(outputOf(file), held);
    if (RETURNS.test(text) && statement.scope !== null)
      taints.add(`function ${statement.scope}`, all);
  }
}

/** The commands that a program runs are in its texts. */
function runLiterals(text: string, statement: Statement, following: Following): void {
  for (const [literal] of text.matchAll(LITERAL)) {
    for (const command of commandsOf(literal.slice(1, -1)))
      following.command({ ...statement, text: command, kind: "shell" });
  }
}

/** Its sender is followed, too. */
function connect(
  variable: string,
  to: readonly Destination[],
  { connections, taints }: Following,
): void {
  if (connections.has(variable)) return;
  connections.set(variable, to);
  taints.changed.push(variable);
}

/** Passes the values on to assigned variables, to collections that grow by them, and to a block's variable. */
function passOn(
  text: string,
  { file, all, following }: { file: string; all: readonly Taint[]; following: Following },
): void {
  const { taints } = following;
  const variable = (name: string) => variableOf(file, name);
  const [, one, several] = ASSIGNS.exec(text) ?? [];
  if (one !== undefined) taints.add(variable(one), all);
  for (const name of (several ?? "").match(/[A-Za-z_]\w*/g) ?? []) taints.add(variable(name), all);
  for (const match of text.matchAll(WITH))
    taints.add(variable(match[1] ?? match[2] ?? match[3] ?? ""), all);
  const grows = GROWS.exec(text);
  if (grows !== null) taints.add(variable(grows[1] ?? grows[2] ?? ""), all);
}
