// All changes of one member of a JSON value, always in the same order.

const WRONG = [null, true, 5, -1.5, "a text", "", [], ["x"], {}, { a: { b: null } }];
const HUGE = "x".repeat(50_000);

export interface Mutation {
  /** A JSON pointer to the member. */
  readonly path: string;
  readonly kind: string;
  readonly value: unknown;
}

/** Each member replaced by null, by values of other types and by a huge text, left out, and with an unknown member beside it. */
export function* mutationsOf(value: unknown): Generator<Mutation> {
  for (const keys of pathsOf(value)) {
    const path = keys.map((key) => `/${key}`).join("");
    const replacements = [...WRONG, HUGE, deep()];
    for (const replacement of replacements)
      yield { path, kind: short(replacement), value: changed(value, keys, () => replacement) };
    if (keys.length > 0) yield { path, kind: "missing", value: changed(value, keys, null) };
    yield {
      path,
      kind: "unknown member",
      value: changed(value, keys, (member) =>
        isObject(member) ? { ...member, unknown: { of: [null] } } : member,
      ),
    };
  }
}

function* pathsOf(value: unknown, keys: readonly string[] = []): Generator<readonly string[]> {
  yield keys;
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) yield* pathsOf(member, [...keys, key]);
}

/** A copy in which one member is changed, or left out where `change` is null. */
function changed(
  value: unknown,
  [key, ...rest]: readonly string[],
  change: ((member: unknown) => unknown) | null,
): unknown {
  if (key === undefined) return change?.(value);
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value)
    ? [...(value as unknown[])]
    : { ...(value as object) };
  const members = copy as Record<string, unknown>; // the keys are those of the value
  if (rest.length > 0 || change !== null) members[key] = changed(members[key], rest, change);
  else if (Array.isArray(copy)) copy.splice(Number(key), 1);
  else delete members[key];
  return copy;
}

function deep(): unknown {
  let value: unknown = "end";
  for (let level = 0; level < 300; level += 1) value = { inner: value };
  return value;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 20)}… (${text.length})` : text;
}
