import { parseDocument } from "yaml";

/** One value of a YAML text, at its place; undefined takes it away. */
export interface YamlChange {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** The text with some values changed. Comments and the order of keys stay. Throws for a text that is not YAML. */
export function withYamlChanges(text: string, changes: readonly YamlChange[]): string {
  const document = parseDocument(text, { schema: "core", merge: false, stringKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  for (const { path, value } of changes)
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, value);
  return document.toString({ lineWidth: 0 });
}
