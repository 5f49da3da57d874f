import { commandsOf, type Statement } from "./statements.ts";
import { isUntrusted } from "../destinations.ts";
import type { Following } from "./following.ts";
import {
  FETCHES,
  installedBy,
  INSTALLS,
  LOOKS_UP_SHELL,
  payloadOf,
  READS_PROGRAM,
  RUNS_HERE,
  RUNS_OUTPUT,
  RUNS_PROGRAM,
  SENDS_SHELL,
  sourcesIn,
  TO_CLIPBOARD,
} from "./sources-and-sinks.ts";
import {
  argumentsOf,
  baseOf,
  downloadsFrom,
  filesIn,
  givenTo,
  joined,
  outputOf,
  variableOf,
  variablesIn,
  type Taint,
} from "./taint.ts";
import { stagesOf } from "../plain/shell-output.ts";
import { followCode } from "./follow-code.ts";

const ASSIGNS =
  /(?:^|[\s;(])(?:export\s+|local\s+|readonly\s+|declare\s+(?:-\w+\s+)?|set\s+|\$)?([A-Za-z_]\w{0,60})\+?\s?=(?!=)/g;
const READS =
  /\b(?:read(?:\s+-\w+(?:\s+\S+)?)*|mapfile(?:\s+-\w+)*|readarray(?:\s+-\w+)*|for)\s+([A-Za-z_]\w{0,60})/g;
const SAVES =
  /(?:(?<=\s)(?:-\w{0,6}[oO]|-OutFile|-Destination|-out|--output(?:-document)?|--dir|--directory-prefix|-P|of)[ =]{1,3}|(?<![-=<])>{1,2}\|?\s{0,3}|\btee\s+(?:-a\s+)?)["']?([\w.$~{}%/\\:-]{1,120})/gi;
const SAVES_AS_NAMED =
  /^\s*(?:\S+\s+){0,3}(?:wget|aria2c|axel|start-bitstransfer|curl[^\n]{0,200} (?:-\w{0,6}[OJ]\w*|--remote-name))/i;
const COPIES =
  /^\s*(?:sudo\s+)?(?:cp|mv|ln|install|tar|zip|7z|rsync|scp|dd|gpg|openssl|cat|base64|gzip|split|copy|xcopy|move|rename|unzip|tee|sed|awk|xz|zstd|ditto|robocopy|compress-archive|expand-archive|bunzip2|gunzip)\b/i;
const RUNS_FILE =
  /^\s*(?:(?:sudo|nohup|exec|command|time|setsid|doas|env|then|do|else|&)\s+(?:-\w+\s+)*){0,3}(?:(?:ba|z|da|k)?sh|source|\.|python[\d.]*|node|perl|ruby|php|pwsh|powershell|open|start|xdg-open|osascript|installer|msiexec|java|deno|bun|chmod\s+\S+|crontab|at|batch|launchctl|systemctl|wine|mono|dotnet|start-process|call|insmod|dpkg|rpm|pip[\d.]*|npm|npx|docker|make|r?bash|exec)?\s*(?:-\w+\s+|--\S+\s+|\/\w+\s+|load\s+|install\s+|-i\s+){0,4}["']?([\w.$~{}%/\\:-]{1,120})/i;
/** A remote shell runs there and not here. */
const ELSEWHERE =
  /^\s*(?:sudo\s+)?(?:ssh|mosh|docker\s+exec|kubectl\s+exec|psql|mysql|redis-cli|mongosh?)\b/i;

/** Programs that run their input as commands. */
const MAKES_COMMANDS =
  /\b(?:xargs|parallel)\b[^|]{0,60}\b(?:(?:ba|z|da)?sh|eval|python[\d.]*|perl|node)\b|\beval\b[^|]{0,20}(?:cat|\/dev\/stdin)|\/dev\/stdin/i;
/** Commands that mention an address without fetching from it. */
const ONLY_NAMES =
  /^\s*(?:echo|printf|export|ssh|ping|#|alias|host|dig|nslookup|whois|traceroute|nmap|kill|grep)\b|^\s*\w+=\S*\s*$/i;
/** A text in quotes that holds commands of its own. */
const QUOTED = /"((?:[^"\\]|\\.){8,4000})"|'([^']{8,4000})'/g;
const MAX_DEPTH = 3;
/** Files that set where a package manager fetches packages. */
const PACKAGE_SOURCES = /sources\.list|\.repo\b|pip\.conf|\.npmrc|\.gemrc|\.condarc/;
/** Names the file that it fetches last. */
const FETCHES_TO_LAST = /\b(?:certutil|bitsadmin|scp|rsync|sftp|robocopy|tftp)\b/i;

/** Follows one command, stage by stage of its pipeline, and the commands in its quotes. */
export function followShell(statement: Statement, following: Following, depth = 0): void {
  const { text, file } = statement;
  let carried: readonly Taint[] = [];
  for (const stage of stagesOf(text))
    carried = followStage(stage, { statement, following, carried });
  // Another script may send the output of this one.
  if (!text.includes(">")) {
    following.taints.add(
      outputOf(file),
      carried.filter(({ label }) => label !== "environment"),
    );
  }
  if (depth < MAX_DEPTH && !ELSEWHERE.test(text)) followQuoted(statement, following, depth + 1);
}

function followQuoted(statement: Statement, following: Following, depth: number): void {
  const isProgram = RUNS_PROGRAM.test(statement.text);
  for (const [, double, single] of statement.text.matchAll(QUOTED)) {
    const text = double ?? single ?? "";
    if (isProgram) followCode({ ...statement, text, kind: "code" }, following);
    if (!/[|;&`]|\$\(/.test(text)) continue;
    for (const command of commandsOf(text))
      followShell({ ...statement, text: command }, following, depth);
  }
}

interface Given {
  readonly statement: Statement;
  readonly following: Following;
  /** The values that are piped in. */
  readonly carried: readonly Taint[];
}

function followStage(stage: string, { statement, following, carried }: Given): Taint[] {
  const { taints, destinations, functions } = following;
  const variable = (name: string) => {
    if (!/^[\d@*]$/.test(name)) return variableOf(statement.file, name);
    return statement.scope === null
      ? argumentsOf(statement.file)
      : givenTo(statement.file, statement.scope);
  };
  const heldBy = (text: string): Taint[] =>
    joined(
      sourcesIn(text, "shell").map((label) => ({ label })),
      ...variablesIn(text).map((name) => taints.of(variable(name))),
      ...(taints.isEmpty
        ? []
        : filesIn(text).flatMap((file) => [taints.of(file), taints.of(outputOf(file))])),
    );
  const held = joined(carried, heldBy(stage));
  if (held.length === 0 && following.here.length === 0 && !following.mayFetch) return [];
  const to = /[.:]/.test(stage) ? destinations.in(stage, true) : [];
  const fetched = FETCHES.test(stage) || INSTALLS.test(stage) ? downloadsFrom(to) : [];
  const installed =
    INSTALLS.test(stage) && to.some(isUntrusted)
      ? downloadsFrom(destinations.in(installedBy(stage), true))
      : [];
  const all = joined(held, fetched);
  const arrive = (
    sink: "network" | "names" | "clipboard" | "execution",
    what: readonly Taint[],
  ) => {
    if (what.length > 0) following.arrive({ at: statement, sink, taints: what, to });
  };

  if (SENDS_SHELL.test(stage) && held.some(({ label }) => label !== "download")) {
    arrive("network", joined(sentBy(stage, { carried, heldBy })));
  }
  if (LOOKS_UP_SHELL.test(stage) && /\$|`|@/.test(stage))
    arrive(
      "names",
      held.filter(({ label }) => label !== "download"),
    );
  if (TO_CLIPBOARD.test(stage)) arrive("clipboard", held);
  if (!ELSEWHERE.test(statement.text)) {
    if (READS_PROGRAM.test(stage)) arrive("execution", carried);
    if (RUNS_OUTPUT.test(stage)) arrive("execution", joined(heldBy(stage), fetched));
    arrive("execution", installed);
    if (MAKES_COMMANDS.test(stage)) arrive("execution", carried);
    if (RUNS_HERE.test(stage)) arrive("execution", following.here);
    const file = RUNS_FILE.exec(stage)?.[1];
    if (file !== undefined && isRun(stage, file))
      arrive(
        "execution",
        joined(
          taints.of(baseOf(file)),
          ...variablesIn(file).map((name) => taints.of(variable(name))),
        ),
      );
  }

  if (fetched.length > 0 && FETCHES_TO_LAST.test(stage))
    for (const name of filesIn(stage)) taints.add(name, fetched);
  if (to.some(isUntrusted) && />|\btee\b/.test(stage) && PACKAGE_SOURCES.test(stage))
    arrive("execution", downloadsFrom(to));
  for (const pattern of [ASSIGNS, READS]) {
    for (const match of stage.matchAll(pattern)) taints.add(variable(match[1] ?? ""), all);
  }
  for (const match of stage.matchAll(SAVES)) save(match[1] ?? "", { all, taints, variable });
  if (SAVES_AS_NAMED.test(stage))
    for (const one of fetched) taints.add(baseOf(one.from?.path ?? ""), [one]);
  if (/\bgit\s+clone\b/.test(stage)) clone(stage, fetched, following);
  if (COPIES.test(stage)) for (const file of filesIn(stage)) taints.add(file, held);
  const directory = /^\s*(?:cd|pushd)\s+["']?([\w./$~{}-]{1,120})/.exec(stage)?.[1];
  if (directory !== undefined) following.enter(baseOf(directory));
  for (const file of filesIn(stage))
    if (/\.\w{2,4}$/.test(file)) taints.add(argumentsOf(file), held);
  if (/\bexport\s/.test(stage))
    for (const match of stage.matchAll(ASSIGNS)) taints.add(`env ${match[1] ?? ""}`, all);
  const command = /^\s*([A-Za-z_][\w-]{0,60})\s/.exec(stage)?.[1];
  if (command !== undefined && functions.has(givenTo(statement.file, command)))
    taints.add(givenTo(statement.file, command), all);
  return ONLY_NAMES.test(stage) ? all : joined(all, downloadsFrom(to));
}

/** The values that a command sends: by its options, and from the pipe where it reads that. */
function sentBy(
  stage: string,
  { carried, heldBy }: { carried: readonly Taint[]; heldBy: (text: string) => Taint[] },
): Taint[] {
  const payload = payloadOf(stage).replaceAll(SAVES, " ");
  // A path that ssh names is a login key, or a path on the other machine.
  if (/^\s*(?:sudo\s+)?ssh\s/.test(stage))
    return joined(carried, heldBy(/<\s?(?!<)\S+/.exec(payload)?.[0] ?? ""));
  const isClient = /\b(?:curl|wget|http|https|xh|iwr|irm)\b|invoke-\w{10}/i.test(stage);
  const readsPipe =
    !isClient ||
    /(?:@|-T\s?|--upload-file[ =]|--post-file[ =]|-d\s?@?|--data\S*[ =]@?|-InFile\s|-Body\s)["']?(?:-(?=[\s"';]|$)|\$)|\$\(cat\b|\$\{?(?:input|_)\b|@-|=-\b/i.test(
      stage,
    ) ||
    /^\s*xargs\b/.test(stage);
  // A path alone is a destination file or a page's name.
  const named =
    isClient &&
    !/@|(?:^|\s)(?:-T|--upload-file|--post-file|-InFile|-Body|-d|--data|-F|--form|--json|--body-file)\b|<|\$|`/i.test(
      payload,
    )
      ? ""
      : payload;
  const isFromThere =
    /\b(?:scp|rsync|sftp)\b/.test(stage) && !/\s(?:["']?[\w.$~{}/-]+["']?)\s.*\S+:|@/.test(payload);
  return joined(readsPipe ? carried : [], named === "" || isFromThere ? [] : heldBy(named));
}

function isRun(stage: string, file: string): boolean {
  const first =
    /^\s*(?:(?:sudo|nohup|exec|time|then|do|else|&|env|setsid)\s+)*["']?(\S+)/.exec(stage)?.[1] ??
    "";
  return (
    first !== file ||
    /\.(?:exe|bat|cmd|ps1|msi|vbs|hta|com|scr)$/i.test(file) ||
    /^["']?(?:\.{0,2}[/\\]|~|\$|%|[A-Za-z]:\\)/.test(file)
  );
}

function save(
  path: string,
  {
    all,
    taints,
    variable,
  }: { all: readonly Taint[]; taints: Following["taints"]; variable: (name: string) => string },
): void {
  const base = baseOf(path);
  if (base === "null" || base === "-") return;
  taints.add(base, all);
  for (const name of variablesIn(path)) taints.add(variable(name), all);
}

function clone(stage: string, fetched: readonly Taint[], following: Following): void {
  const [, target] =
    /\bgit\s+clone\s+(?:-{1,2}\S+\s+(?:\d+\s+)?)*\S+\s+["']?([\w./~$-]{1,100})/.exec(stage) ?? [];
  const named = fetched.map((one) => baseOf(one.from?.path ?? "").replace(/\.git$/, ""));
  for (const name of [target ?? "", ...named]) following.taints.add(baseOf(name), fetched);
}
