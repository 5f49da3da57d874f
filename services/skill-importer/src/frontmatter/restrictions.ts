import type { YamlMapping } from "./yaml-value.ts";

/** Fields that take something away from a skill. What they say must survive every repair. */
const RESTRICTIONS: readonly { readonly field: string; readonly mention: RegExp }[] = [
  { field: "allowed-tools", mention: /(?<!dis)allowed[-_]?tools["']?\s*:/i },
  { field: "disallowed-tools", mention: /disallowed[-_]?tools["']?\s*:/i },
  { field: "user-invocable", mention: /user[-_]?invo[ck]able["']?\s*:/i },
  { field: "disable-model-invocation", mention: /disable[-_]?model[-_]?invocation["']?\s*:/i },
];

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
