/** The value at a path such as `contexts.work.nats`; undefined when there is none [D31]. */
export function getByPath(value: unknown, path: string): unknown {
  let at: unknown = value;
  for (const part of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part]; // hasOwn has just looked
  }
  return at;
}
