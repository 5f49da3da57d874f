import { isRecord } from "@switchyard/contracts/json-record";

/** Reports a member that was dropped or replaced; `pointer` is a JSON pointer into the value. */
export type Note = (pointer: string, problem: string) => void;

/** A value that does not have the form that MCP prescribes, with the reason in words. */
export class Unusable {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/**
 * Returns the value in the form that MCP prescribes: the same one when it has that form already, a repaired copy, or Unusable.
 * A form reports every part of the value that it drops to `note`, with a pointer below `at`.
 */
export type Form = (value: unknown, at: string, note: Note) => unknown;

type Members = Readonly<Record<string, Form>>;

const WRONG_TYPE = new Unusable("it has the wrong type");

function typed(isRight: (value: unknown) => boolean): Form {
  return (value) => (isRight(value) ? value : WRONG_TYPE);
}

export const text = typed((value) => typeof value === "string");
export const flag = typed((value) => typeof value === "boolean");
export const number = typed((value) => typeof value === "number");
export const integer = typed(Number.isSafeInteger);

/** An object of any members. PHP writes an empty one as an empty list. */
export const anyMembers: Form = (value) => {
  if (isRecord(value)) return value;
  return Array.isArray(value) && value.length === 0 ? {} : WRONG_TYPE;
};

/** One of these texts. */
export function oneOf(...texts: readonly string[]): Form {
  return typed((value) => typeof value === "string" && texts.includes(value));
}

/** A list. Only an item without the form is left out; the others stay. */
export function listOf(item: Form): Form {
  return (value, at, note) => {
    if (!Array.isArray(value)) return new Unusable("it is not a list");
    const values: readonly unknown[] = value;
    const kept: unknown[] = [];
    for (const [index, each] of values.entries()) {
      const formed = item(each, `${at}/${index}`, note);
      if (formed instanceof Unusable) note(`${at}/${index}`, `${formed.why}; left out`);
      else kept.push(formed);
    }
    const isSame =
      kept.length === values.length && kept.every((each, index) => each === values[index]);
    return isSame ? values : kept;
  };
}

/**
 * An object with these members and any others, which are kept as they are. `null` for an optional member is its absence; one without
 * its form is left out. Without a required member the whole is unusable.
 */
export function membersOf(optional: Members, required: Members = {}): Form {
  return (value, at, note) => {
    const members = anyMembers(value, at, note);
    if (members instanceof Unusable || !isRecord(members))
      return new Unusable("it is not an object");
    const changes = new Map<string, unknown>();
    for (const [name, form] of Object.entries(required)) {
      const member = members[name] ?? undefined;
      const formed = member === undefined ? member : form(member, `${at}/${name}`, note);
      if (formed === undefined) return new Unusable(`it has no "${name}"`);
      if (formed instanceof Unusable) return new Unusable(`its "${name}": ${formed.why}`);
      if (formed !== member) changes.set(name, formed);
    }
    for (const [name, form] of Object.entries(optional)) {
      const member = members[name];
      if (member === undefined) continue;
      const formed = member === null ? undefined : form(member, `${at}/${name}`, note);
      if (formed instanceof Unusable) note(`${at}/${name}`, `${formed.why}; left out`);
      if (formed !== member) changes.set(name, formed);
    }
    if (changes.size === 0) return members;
    const changed = { ...members };
    for (const [name, formed] of changes)
      if (formed === undefined || formed instanceof Unusable) delete changed[name];
      else changed[name] = formed;
    return changed;
  };
}

/** The form with a default for a required member that is missing or has the wrong type. */
export function withDefault(
  name: string,
  { form, defaultOf }: { form: Form; defaultOf: (members: Record<string, unknown>) => unknown },
  whole: Form,
): Form {
  return (value, at, note) => {
    const members = anyMembers(value, at, note);
    if (members instanceof Unusable || !isRecord(members)) return whole(value, at, note);
    if (!(form(members[name], at, () => undefined) instanceof Unusable))
      return whole(value, at, note);
    const replacement = defaultOf(members);
    if (replacement === undefined) return whole(value, at, note);
    note(
      `${at}/${name}`,
      `it is missing or has the wrong type; ${JSON.stringify(replacement)} is used`,
    );
    return whole({ ...members, [name]: replacement }, at, note);
  };
}

/** Keys whose values MCP does not define, so that `null` in them is a value and not an absent member. */
const FOREIGN = new Set(["_meta", "arguments", "data", "input", "metadata", "structuredContent"]);
const DEEPEST = 12;

/** The value without members that are null, for parameters: serialisers of other languages write all that a class declares. */
export function withoutNulls(value: unknown, depth = 0): unknown {
  if (depth > DEEPEST) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => {
      if (member === null) return [];
      return [[key, FOREIGN.has(key) ? member : withoutNulls(member, depth + 1)]];
    }),
  );
}
