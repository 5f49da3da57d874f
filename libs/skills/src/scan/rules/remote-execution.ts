import { commandAt, spanAround, type Command } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import { isUntrusted, type Destination, type Destinations } from "../destinations.ts";

/** Programs that read a program from their input. An interpreter with a program argument reads only data. */
const INTO_SHELL =
  /\|&?\s{0,4}(?:(?:sudo|env|nohup|exec|command|time|xargs|busybox)\s{1,4}(?:-{1,2}[\w=-]{1,20}\s{1,4}){0,3}){0,3}["']?(?:\/(?:usr\/)?(?:local\/)?bin\/)?(?:env\s{1,4})?(?:(?:ba|z|da|k|fi|c)?sh|pwsh|powershell|osascript|iex|invoke-expression|cmd|source|\.)(?![\w.-])|\|&?\s{0,4}(?:sudo\s{1,4})?(?:python[\d.]{0,4}|node|perl|ruby|php)\b(?!\s{1,4}-{0,2}(?:[cempnlir]|[\w./-]{1,60}\.\w{1,4}\b))/i;
/** Commands that run the output of the text that follows: `bash -c "$(`, `eval "$(`, `source <(`. */
const RUNS_OUTPUT =
  /(?:(?:\b(?:ba|z|da|k)?sh|\beval|\bsource|\bpython[\d.]{0,4}|\bnode|\bperl|\bruby|(?:^|[\s;&|])\.)[ \t]{1,4}(?:-\w{1,4}[ \t]{1,4}){0,3}["']?(?:<\(|\$\(|`)\s{0,4}|<<<[ \t]{0,4}["']?\$\(\s{0,4}|\b(?:eval|exec|system|subprocess\.\w{2,12})\(["'`]?(?:\$\(|`)\s{0,4})(?:sudo )?$/i;
/** Programs that run fetched text in their own process: `exec(requests.get(`, `iex (iwr `. */
const EVALUATES =
  /(?:\b(?:eval|exec|compile|new function|\w{0,20}system|subprocess\.\w{2,12}|vm\.run\w{1,20})\(|\b(?:iex|invoke-expression)\b|&\s?\()[\s({["'`&$]{0,6}(?:new-object |await |compile\(|\()?[\w.\s(){"'`-]{0,60}$/i;
const NAMES_OUTPUT =
  /(?:(?:^|\s)-(?:o|O|outfile|destination)[ \t=]{0,3}|--output(?:-document)?[ \t=]{1,3}|(?:^|[^-=])>{1,2}[ \t]{0,3}|^url[^\n]{0,200},[ \t]{0,3}(?=["']))["']?(\$?[{\w./~%:\\-]{1,80})/gi;
const SAVES_AS_NAMED = /^(?:wget(?![^\n]{0,200} -(?:q?O|-output-document))|aria2c|curl[^\n]{0,200} -(?:\w{0,6}[OJ]|-remote-name)|start-bits)/i; // prettier-ignore
const RUNS_FILE =
  /(?:\bchmod[^\n]{1,16}|\b(?:(?:ba|z|da|k)?sh|source|python[\d.]{0,4}|node|perl|ruby|open|start|sudo|nohup|exec|start-process|installer -pkg|msiexec(?: \/\w)?|system|popen|run|call|execsync|spawn)\b|(?:^|[\n;&|`(]|\bthen|\bdo)[ \t]{0,8}\.?)[ \t"'([{]{0,6}(?:-\w{1,4}[ \t]{1,3}){0,2}["']?(?:[\w.~$/{}%:\\-]{0,60}[/\\])?$/i;

const UNTRUSTED = {
  code: "remote_execution_from_drop",
  severity: "critical",
  confidence: "high",
  blocks: true,
  message: "runs what it fetches from a bare address, a paste site or a known attacker",
} as const;

/** Checks for commands that fetch something and run it. The source of the program decides. */
export function remoteExecution(destinations: Destinations): { runsFetched: Check } {
  return {
    runsFetched(match, text) {
      const command = commandAt(text, match.index);
      const isRun = runsAtOnce(command);
      if (!isRun && !mayRunLater(command)) return null;
      const from = destinations.near(text, command.span, true);
      // An address in a variable is set somewhere near.
      const isGiven = from.length > 0 || !/[$%({]/.test(command.text.slice(0, 200));
      const near = isGiven
        ? from
        : destinations.near(text, spanAround(text, match.index, NEAR), true);
      if (near.some(isUntrusted) && (isRun || runsLater(command, near))) return UNTRUSTED;
      if (!isRun) return null;
      const isKnown = from.length > 0 && from.every(({ kind }) => kind === "installer");
      return isKnown ? { severity: "low" } : {};
    },
  };
}

/** Excludes addresses that are private, local or for examples. */
export function namesBareAddress(destinations: Destinations): Check {
  return ({ 0: seen }) =>
    destinations.in(seen, true).some(({ kind }) => kind === "address" || kind === "known_bad")
      ? {}
      : null;
}

function runsAtOnce({ before, text }: Command): boolean {
  const isProgram = /^(?:curl|wget|aria2c|bitsadmin|certutil)/i.test(text);
  return (
    /^mshta/i.test(text) ||
    INTO_SHELL.test(text) ||
    (isProgram ? RUNS_OUTPUT : EVALUATES).test(before)
  );
}

/** True when a later command names the saved file, and runs it. */
function runsLater({ text, below }: Command, from: readonly Destination[]): boolean {
  const names = [...text.matchAll(NAMES_OUTPUT)].map((match) => match[1] ?? "");
  // Without a name it is saved under the last part of its address.
  if (SAVES_AS_NAMED.test(text)) names.push(...from.map(({ path }) => path.replace(/[?#].*$/, "")));
  const all = `${text}${below}`;
  return names.slice(0, 6).some((name) => {
    const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
    if (base === "") return false;
    for (let at = all.indexOf(base), seen = 0; at >= 0 && seen < 16; seen += 1) {
      const isWhole = !/^[\w-]/.test(all.slice(at + base.length, at + base.length + 1));
      if (isWhole && RUNS_FILE.test(all.slice(Math.max(0, at - 120), at))) return true;
      at = all.indexOf(base, at + base.length);
    }
    return false;
  });
}

const NEAR = { before: 12, after: 3 };
const LATER =
  /\bchmod\b|sh\b|python|node|perl|ruby|open|start|exec|installer|source|\.\/|run|\/tmp|%temp%|\$env:temp/i;
function mayRunLater({ text, below }: Command): boolean {
  return LATER.test(text) || LATER.test(below.slice(0, 600));
}
