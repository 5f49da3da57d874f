import type { ArgumentChange, Presentation } from "@switchyard/contracts/policy/approval-record";
import { canonicalJson } from "@switchyard/contracts/canonical-json";
import { pointerToken } from "@switchyard/contracts/json-pointer";
import { visible } from "@switchyard/service/visible-text";
import { maskSecrets } from "./mask-secrets.ts";

/** The limit on shown arguments, in characters; a cut is marked. */
const MAX_SHOWN = 65_536;
const MAX_CHANGES = 50;
const MAX_CHANGE_TEXT = 2_000;

/** Arguments with their secrets masked, and their differences from the last approved ones. */
export interface PresentedArguments {
  readonly presentation: Presentation;
  /** Canonical JSON with secrets masked, to compare the next call with; null when it is too long to keep. */
  readonly comparable: string | null;
}

/** `lastApproved` is the `comparable` of the last approved call of the same tool, or null. */
export function presentArguments(
  args: Readonly<Record<string, unknown>>,
  lastApproved: string | null,
): PresentedArguments {
  const seen = { hidden: false, redacted: false };
  const clean = cleanCopy(args, seen);
  const text = canonicalJson(clean);
  const shown = visible(text);
  const changes =
    lastApproved === null ? null : changesBetween(JSON.parse(lastApproved), clean, "");
  return {
    presentation: {
      args: shown.slice(0, MAX_SHOWN),
      argsBytes: Buffer.byteLength(canonicalJson(args)),
      isCut: shown.length > MAX_SHOWN,
      hasHiddenCharacters: seen.hidden,
      hasRedactions: seen.redacted,
      changes: changes === null ? null : changes.slice(0, MAX_CHANGES),
    },
    comparable: text.length > MAX_SHOWN ? null : text,
  };
}

/** Returns where two JSON values differ, as deep as both have the same kind of container. */
function changesBetween(before: unknown, after: unknown, pointer: string): ArgumentChange[] {
  if (isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) =>
      changesBetween(
        ownMember(before, key),
        ownMember(after, key),
        `${pointer}/${pointerToken(key)}`,
      ),
    );
  }
  if (before === undefined && after === undefined) return [];
  if (before !== undefined && after !== undefined && canonicalJson(before) === canonicalJson(after))
    return [];
  return [{ pointer: visible(pointer, 500), before: shownValue(before), after: shownValue(after) }];
}

function shownValue(value: unknown): string | null {
  return value === undefined ? null : visible(canonicalJson(value), MAX_CHANGE_TEXT);
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function ownMember(container: object, key: string): unknown {
  return Object.hasOwn(container, key) ? Reflect.get(container, key) : undefined;
}

interface Seen {
  hidden: boolean;
  redacted: boolean;
}

function cleanCopy(value: unknown, seen: Seen): unknown {
  if (typeof value === "string") return cleanText(value, seen);
  if (Array.isArray(value)) return value.map((item) => cleanCopy(item, seen));
  if (!isContainer(value)) return value;
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>; // no `__proto__` setter
  for (const [key, member] of Object.entries(value)) {
    if (visible(key) !== key) seen.hidden = true;
    copy[key] = cleanCopy(member, seen);
  }
  return copy;
}

function cleanText(text: string, seen: Seen): string {
  if (visible(text) !== text) seen.hidden = true;
  const clean = maskSecrets(text);
  if (clean !== text) seen.redacted = true;
  return clean;
}
