import { masksIn } from "@switchyard/contracts/policy/findings";
import { pointerToken } from "@switchyard/contracts/json-pointer";
import {
  MAX_RECORDED_POINTER,
  MAX_RECORDED_VALUES,
  type RecordedValues,
} from "@switchyard/contracts/policy/recorded-values";
import { findInText } from "@switchyard/service/inspect/find-in-text";
import { isSecretKey, redactText } from "@switchyard/service/redact";
import { kindOf, type ValueKey } from "./value-keys.ts";

type Args = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 8;
/** Rules do not compare longer texts. */
const MAX_TEXT_LENGTH = 16_384;
/** No shape that the inspector of secrets looks for is shorter. */
const SHORTEST_SECRET = 20;
const MAX_MASKS_LENGTH = 200;
const LETTERS = { string: "s", number: "n", boolean: "b", null: "z" } as const;

interface Walk {
  readonly digests: Record<string, string>;
  count: number;
  isCut: boolean;
  readonly textOf: (name: string, value: unknown) => string;
}

/** Returns the types and digests of the arguments of one owner. Names that look like secrets, and what is behind them, are left out. */
export function recordValues(args: Args, key: ValueKey, owner: string): RecordedValues {
  const walk: Walk = {
    digests: {},
    count: 0,
    isCut: false,
    textOf: (name, value) => recordedText(name, value, (scalar) => key.digest(owner, scalar)),
  };
  visit(walk, args, { pointer: "", depth: 0 });
  return { key: key.id, digests: walk.digests, ...(walk.isCut && { isCut: true as const }) };
}

function visit(
  walk: Walk,
  members: object,
  { pointer, depth }: { readonly pointer: string; readonly depth: number },
): void {
  for (const name in members) {
    if (!Object.hasOwn(members, name)) continue;
    const at = `${pointer}/${pointerToken(name)}`;
    const isLeftOut =
      walk.count >= MAX_RECORDED_VALUES ||
      depth >= MAX_DEPTH ||
      at.length > MAX_RECORDED_POINTER ||
      redactText(name) !== name;
    if (isLeftOut) {
      walk.isCut = true;
      if (walk.count >= MAX_RECORDED_VALUES) return;
      continue;
    }
    const value = (members as Args)[name];
    walk.count += 1;
    walk.digests[at] = walk.textOf(name, value);
    if (typeof value === "object" && value !== null)
      visit(walk, value, { pointer: at, depth: depth + 1 });
  }
}

function recordedText(
  name: string,
  value: unknown,
  digest: (scalar: string | number | boolean | null) => string,
): string {
  if (Array.isArray(value)) return "a";
  if (typeof value === "object" && value !== null) return "o";
  const isScalar = value === null || ["string", "number", "boolean"].includes(typeof value);
  if (!isScalar) return "z"; // JSON has no other values
  const scalar = value as string | number | boolean | null; // checked above
  const letter = LETTERS[kindOf(scalar)];
  if (isSecretKey(name)) return letter;
  if (typeof scalar !== "string") return `${letter}${digest(scalar)}`;
  if (scalar.length > MAX_TEXT_LENGTH) return letter;
  const masks = masksIn(scalar);
  if (masks.length > 0) return `m${masksText(masks)}`;
  return isSecret(scalar) ? letter : `${letter}${digest(scalar)}`;
}

function isSecret(text: string): boolean {
  if (redactText(text) !== text) return true;
  return text.length >= SHORTEST_SECRET && findInText(text, ["secret"]).length > 0;
}

/** Whole masks, one at least. */
function masksText(masks: readonly { readonly mask: string }[]): string {
  let text = "";
  for (const { mask } of masks) {
    if (text.length + mask.length > MAX_MASKS_LENGTH) break;
    text += mask;
  }
  return text;
}
