import { commandAt, linesAround } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import type { ScannedText } from "../scanned-text.ts";

/** Patterns of a write before the path, or after it. */
const WRITES_BEFORE =
  />{1,2}\|?\s{0,4}["']?\S{0,80}$|\b(?:tee|cp|mv|ln|install|dd|rsync|scp|sed|sponge|truncate)\b[^\n;&|]{0,200}$|(?:-o|-O|--output|-outfile|-path|of=)[ =]?["']?\S{0,80}$|\b(?:add-content|set-content|out-file|new-item|append\w{0,10}|write\w{0,10})\b[^\n]{0,120}$/i;
const WRITES_AFTER =
  /^[^\n]{0,40}["'][ \t]{0,3},[ \t]{0,3}["'](?:a|w|x)[+bt]{0,2}["']|^[^\n]{0,20}["']?\)\.(?:write|append)|^[^\n]{0,10}<<|^["']?[ \t]{0,3}(?:$|\n)[^\n]{0,200}>>/i;
const ASSIGNED =
  /(?:^|[\s;(])(?:export |const |let |var |local |\$)?(\w{1,40})[ \t]{0,2}=[ \t]{0,2}\S{0,100}$/;
const PUBLIC_KEY =
  /\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d{3}|sk-ssh-ed25519@openssh\.com) AAAA[\w+/=]{20,}/;
const DOWNLOADS = /\b(?:curl|wget|iwr|irm|invoke-\w{10})\b/i;

type Checks = Readonly<
  Record<"addsKey" | "writesStartFile" | "writesCrontab" | "runsAtStart", Check>
>;

/** Checks for changes that persist on the machine, or grant someone access, after the skill has ended. */
export const PERSISTENCE: Checks = {
  addsKey(match, text) {
    if (!isWritten(match, text)) return null;
    const near = linesAround(text, match.index, { before: 4, after: 8 });
    // A key that comes with the skill, or from the network, belongs to someone else than the user.
    const line = linesAround(text, match.index, { before: 0, after: 0 });
    return PUBLIC_KEY.test(near) || DOWNLOADS.test(line)
      ? { severity: "critical", confidence: "high", blocks: true }
      : {};
  },
  writesStartFile: (match, text) => (isWritten(match, text) ? weighed(match, text) : null),
  writesCrontab(match, text) {
    const before = text.text.slice(Math.max(0, match.index - 12), match.index);
    const isPiped = /\|[ \t]{0,4}(?:sudo )?$/.test(before);
    return isPiped || /^crontab[ \t]{1,4}-/i.test(match[0]) ? weighed(match, text) : null;
  },
  runsAtStart: (match, text) => weighed(match, text),
};

/** Something that is fetched anew whenever it runs weighs more. */
function weighed(match: RegExpExecArray, text: ScannedText): { severity?: "high" } {
  const { before, text: command } = commandAt(text, match.index);
  return DOWNLOADS.test(before) || DOWNLOADS.test(command) ? { severity: "high" } : {};
}

/** True for a write to the path at a match, or to the variable that holds it. */
function isWritten(match: RegExpExecArray, text: ScannedText): boolean {
  const { before } = commandAt(text, match.index);
  const after = text.text.slice(match.index + match[0].length, match.index + match[0].length + 300);
  if (WRITES_BEFORE.test(before) || WRITES_AFTER.test(after)) return true;
  const name = ASSIGNED.exec(before)?.[1];
  if (name === undefined) return false;
  const below = linesAround(text, match.index, { before: 0, after: 12 });
  return new RegExp(
    String.raw`(?:>>?|\btee\b[^\n]{0,20}|\b(?:cp|mv|install|ln)\b[^\n]{0,120})[ \t]{0,3}["']?\$\{?${name}\b|open\(\s{0,2}${name}\b|\b(?:append|write)\w{0,10}\(\s{0,2}${name}\b`,
    "i",
  ).test(below);
}
