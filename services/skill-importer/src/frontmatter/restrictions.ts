import { fieldNamed, FIELDS, isFieldName } from "./fields.ts";
import type { YamlMapping } from "./yaml-value.ts";

/** Fields that take something away from a skill, and how a text mentions them. */
const RESTRICTIONS = Object.keys(FIELDS)
  .filter((name) => isFieldName(name))
  .filter((name) => fieldNamed(name).restricts === true)
  .map((field) => {
    const spellings = [field, ...(fieldNamed(field).slips ?? [])];
    const words = spellings.map((spelling) => spelling.replaceAll("-", "[-_]?")).join("|");
    // One of them ends like another: `disallowed-tools`.
    return { field, mention: new RegExp(String.raw`(?<!dis)(?:${words})["']?\s*:`, "i") };
  });

/** True for a restriction's key in any spelling. */
export function isRestriction(key: string): boolean {
  return RESTRICTIONS.some(({ mention }) => startsWith(mention, `${key}:`));
}

/**
 * Marks as unreadable each restriction that a broken text mentions more often than it was read, so that
 * its strictest reading counts: a repair may have made it part of another field's text.
 */
export function restrictUnread(text: string, values: YamlMapping): void {
  for (const { field, mention } of RESTRICTIONS) {
    const mentioned = text.match(new RegExp(mention, "gi"))?.length ?? 0;
    const read = Object.keys(values).filter((key) => startsWith(mention, `${key}:`));
    if (mentioned <= read.length) continue;
    for (const key of read) values[key] = null;
    values[field] = null;
  }
}

function startsWith(mention: RegExp, text: string): boolean {
  return mention.exec(text)?.index === 0;
}
