/**
 * What other clients run or insert when a skill is used: `` !`command` `` and fences that begin with
 * ```` ```! ````, and `@file`. Here all of it is text. Null when there is none of it.
 */
export function notRunWarning(body: string): string | null {
  const commands = countOf(body, /(?:^|\s)!`[^`\n]+`/gm) + countOf(body, /^[ \t]*```!/gm);
  const files = countOf(body, FILE_REFERENCE);
  if (commands + files === 0) return null;
  const what = [
    ...(commands === 0 ? [] : [`${commands} command${commands === 1 ? "" : "s"} (!\`…\`)`]),
    ...(files === 0 ? [] : [`${files} file reference${files === 1 ? "" : "s"} (@…)`]),
  ];
  return `the skill has ${what.join(" and ")}; nothing is run or inserted, they stay text`;
}

// With an ending, so that @decorators and @scope/packages are none; addresses have no space before the @.
const FILE_REFERENCE = /(?:^|\s)@[\w~./-]{0,200}\.[a-z]{1,8}(?![\w./@-])/gm;

function countOf(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}
