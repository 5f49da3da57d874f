import { parsePointer } from "@switchyard/contracts/json-pointer";
import { isRecord } from "@switchyard/contracts/json-record";
import type { RecordedDecision } from "@switchyard/contracts/policy/policy-replay";
import {
  MAX_RECORDED_VALUES,
  type RecordedValues,
} from "@switchyard/contracts/policy/recorded-values";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { recordedValue, type ScalarKind } from "@switchyard/rules/values/recorded-value";
import { SealError } from "@switchyard/service/secret-cipher";
import { sealContext, type ValueKey, type ValueKeys } from "./value-keys.ts";

type Args = Readonly<Record<string, unknown>>;
type Constant = NonNullable<
  CompiledBundle["rules"][number]["conditions"][number]["constants"]
>[number];

/** The arguments of a past call as far as a replay has them. */
export interface KnownArguments {
  readonly args: Args;
  /** Null: all values are known. Otherwise `isComplete` is false when the call had more arguments. */
  readonly recorded: { readonly isComplete: boolean } | null;
}

/** A reason why nothing of the arguments is known. */
export type Unreadable = "arguments" | "key";

/** Reads the arguments of past calls for the rules of one bundle. A caller without the right gets nothing out of encrypted ones. */
export interface ValueReader {
  readonly mayOpen: boolean;
  read(recorded: RecordedDecision): KnownArguments | Unreadable;
}

const KINDS: Readonly<Record<string, ScalarKind>> = {
  s: "string",
  n: "number",
  b: "boolean",
  z: "null",
};

export function createValueReader(options: {
  readonly bundle: CompiledBundle;
  readonly keys: ValueKeys;
  readonly mayOpen: boolean;
}): ValueReader {
  const { keys, mayOpen, bundle } = options;
  const constants = constantsOf(bundle);
  const known = new Map<string, ReadonlyMap<string, Constant>>();
  /** The constants of the rules by their digests; a digest that is not among them is of another value. */
  const constantsFor = (key: ValueKey, owner: string) => {
    const name = `${key.id} ${owner}`;
    const found =
      known.get(name) ?? new Map(constants.map((value) => [key.digest(owner, value), value]));
    known.set(name, found);
    return found;
  };
  return {
    mayOpen,
    read({ args, values, argsDigest, principal }) {
      if (args !== undefined) return { args, recorded: null };
      if (values === undefined) return "arguments";
      const opened =
        mayOpen && values.sealed !== undefined && argsDigest !== undefined
          ? open(keys, values.sealed, sealContext(principal.user, argsDigest))
          : null;
      if (opened !== null) return { args: opened, recorded: null };
      const key = keys.byId.get(values.key);
      if (key === undefined) return "key";
      return {
        args: standIns(values, constantsFor(key, principal.user)),
        recorded: { isComplete: values.isCut !== true },
      };
    },
  };
}

function constantsOf({ rules }: CompiledBundle): readonly Constant[] {
  const found = rules.flatMap(({ conditions }) =>
    conditions.map(({ constants }) => constants ?? []),
  );
  return [...new Set(found.flat())];
}

/** Null where no key opens it. */
function open({ cipher }: ValueKeys, sealed: string, context: string): Args | null {
  try {
    const args: unknown = JSON.parse(cipher?.open(sealed, context) ?? "null");
    return isRecord(args) ? args : null;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** The arguments with a constant where the value is one, and else with a stand-in. */
function standIns({ digests }: RecordedValues, constants: ReadonlyMap<string, Constant>): Args {
  const args = members();
  const objects = new Map<string, Record<string, unknown>>([["", args]]);
  // The text of an object's pointer sorts before those of its members.
  for (const [pointer, text] of Object.entries(digests).toSorted(byPointer)) {
    const token = parsePointer(pointer)?.at(-1);
    const parent = objects.get(pointer.slice(0, pointer.lastIndexOf("/")));
    if (token === undefined || parent === undefined) continue;
    if (Array.isArray(parent) && !(Number(token) < MAX_RECORDED_VALUES)) continue;
    const value = valueOf(text, constants);
    parent[token] = value;
    if (typeof value === "object" && value !== null)
      objects.set(pointer, value as Record<string, unknown>); // an object or a list
  }
  return args;
}

function valueOf(text: string, constants: ReadonlyMap<string, Constant>): unknown {
  const [letter, digest] = [text.charAt(0), text.slice(1)];
  if (letter === "o") return members();
  if (letter === "a") return [];
  // Rules cannot judge a text with masks, whatever is around them.
  if (letter === "m") return digest;
  const constant = constants.get(digest);
  if (constant !== undefined) return constant;
  return recordedValue({
    kind: KINDS[letter] ?? "string",
    digest: digest === "" ? null : digest,
  });
}

function byPointer([one]: [string, string], [other]: [string, string]): number {
  return one < other ? -1 : 1;
}

/** An object without the setter of `__proto__`. */
function members(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>; // it has no members yet
}
