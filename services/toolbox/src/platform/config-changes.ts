import { isDeepStrictEqual } from "node:util";
import { isList, isObject, type Json, type JsonObject } from "./config-value.ts";

/** A value to write; undefined deletes it. */
export interface ConfigChange {
  readonly path: readonly string[];
  readonly value: Json | undefined;
}

/** Returns the differences between the configuration as it was shown and the wanted one, value by value. */
export function changesBetween(
  before: Json | undefined,
  wanted: Json | undefined,
  path: readonly string[] = [],
): ConfigChange[] {
  if (isDeepStrictEqual(before, wanted)) return [];
  if (isObject(wanted) && (before === undefined || isObject(before))) {
    const old = before ?? {};
    const names = new Set([...Object.keys(old), ...Object.keys(wanted)]);
    const changes = [...names].flatMap((name) =>
      changesBetween(own(old, name), own(wanted, name), [...path, name]),
    );
    // A new one without anything in it.
    return changes.length === 0 ? [{ path, value: wanted }] : changes;
  }
  if (isList(before) && isList(wanted) && before.length === wanted.length && hasObjects(before))
    return before.flatMap((item, index) =>
      changesBetween(item, wanted[index], [...path, String(index)]),
    );
  return [{ path, value: wanted }];
}

/** Applies a merge patch: null deletes; lists of objects with an `id` are merged by it [F33]. */
export function mergePatch(before: Json | undefined, patch: Json): Json {
  if (isList(patch) && isList(before) && hasIds(patch) && hasIds(before)) {
    const ids = new Set(before.map(idOf));
    const merged = before.map((item) => {
      const change = patch.find((one) => idOf(one) === idOf(item));
      return change === undefined ? item : mergePatch(item, change);
    });
    return [...merged, ...patch.filter((one) => !ids.has(idOf(one)))];
  }
  if (!isObject(patch)) return patch;
  const old = isObject(before) ? before : {};
  const kept = Object.entries(old).filter(([name]) => !Object.hasOwn(patch, name));
  const added = Object.entries(patch).flatMap(([name, value]) =>
    value === null ? [] : [[name, mergePatch(own(old, name), value)] as const],
  );
  return Object.fromEntries([...kept, ...added]);
}

/** A copy with the change made; objects on the way are made where they are missing. */
export function withChange(before: Json | undefined, { path, value }: ConfigChange): Json {
  const [name, ...rest] = path;
  if (name === undefined) return value ?? null;
  const old = isObject(before) ? before : {};
  if (rest.length === 0 && value === undefined)
    return Object.fromEntries(Object.entries(old).filter(([key]) => key !== name));
  const made = withChange(own(old, name), { path: rest, value });
  const others = Object.entries(old).map(([key, item]) => [key, key === name ? made : item]);
  return Object.fromEntries(Object.hasOwn(old, name) ? others : [...others, [name, made]]);
}

/** The value of a dot path. Names may have dots in them: the shortest that is there counts. Undefined: there is none. */
export function valueOfKey(value: Json, key: string): Json | undefined {
  let found: Json | undefined = value;
  let name = "";
  for (const part of key.split(".")) {
    name = name === "" ? part : `${name}.${part}`;
    if (typeof found !== "object" || found === null) return undefined;
    if (!Object.hasOwn(found, name)) continue;
    found = (found as JsonObject)[name]; // a list has its numbers as names
    name = "";
  }
  return name === "" ? found : undefined;
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function hasObjects(list: readonly Json[]): boolean {
  return list.some((item) => isObject(item));
}

function hasIds(list: readonly Json[]): boolean {
  return list.length > 0 && list.every((item) => idOf(item) !== undefined);
}

function idOf(item: Json | undefined): Json | undefined {
  return isObject(item) ? own(item, "id") : undefined;
}
