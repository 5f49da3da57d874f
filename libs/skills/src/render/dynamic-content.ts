/**
 * Warns of content that other clients run or insert when a skill is used: `` !`command` `` and fences that begin with ```` ```!
 * ````, and `@file`. Here all of it is text. Null when there is none of it.
 */
export function notRunWarning(body: string): string | null {
  // This check comes first: nearly no file has these marks, and a pattern reads every character.
  const commands =
    (body.includes("!`") ? countOf(body, /(?:^|\s)!`[^`\n]+`/gm) : 0) +
    (body.includes("```!") ? countOf(body, /^[ \t]*```!/gm) : 0);
  const files = body.includes("@") ? fileReferences(body) : 0;
  if (commands + files === 0) return null;
  const what = [
    ...(commands === 0 ? [] : [`${commands} command${commands === 1 ? "" : "s"} (!\`…\`)`]),
    ...(files === 0 ? [] : [`${files} file reference${files === 1 ? "" : "s"} (@…)`]),
  ];
  return `the skill has ${what.join(" and ")}; nothing is run or inserted, they stay text`;
}

// The pattern requires an extension, so that @decorators and @scope/packages do not match.
const FILE_REFERENCE = /@[\w~./-]{0,200}\.[a-z]{1,8}(?![\w./@-])/y;

/** Addresses have no space before the @. */
function fileReferences(body: string): number {
  let count = 0;
  for (let at = body.indexOf("@"); at >= 0; at = body.indexOf("@", at + 1)) {
    if (at > 0 && !/\s/.test(body[at - 1] ?? "")) continue;
    FILE_REFERENCE.lastIndex = at;
    if (FILE_REFERENCE.test(body)) count += 1;
  }
  return count;
}

function countOf(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}
