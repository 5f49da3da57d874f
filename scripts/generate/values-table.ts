import { readFileSync } from "node:fs";
import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from "yaml";
import { code, table } from "./markdown-table.ts";

const chart = new URL("../../deploy/helm/switchyard/", import.meta.url);
/** Longer ones are for reading in values.yaml. */
const MAX_DEFAULT = 60;

/** Every value of the chart with its default and the comment above it. Throws for a value without a comment. */
export function valuesTable(): string {
  const { contents } = parseDocument(readFileSync(new URL("values.yaml", chart), "utf8"));
  if (!isMap(contents)) throw new Error("values.yaml is not a map");
  return table(["value", "default", "meaning"], rowsOf(contents, ""));
}

function rowsOf(map: YAMLMap, prefix: string): string[][] {
  return map.items.flatMap((pair, index) => {
    const path = `${prefix}${String(pair.key)}`;
    const meaning = commentOf(map, pair, index);
    // A map written over lines has values with comments of their own; one without any is a value.
    if (isMap(pair.value) && !pair.value.flow && hasComments(pair.value))
      return rowsOf(pair.value, `${path}.`);
    if (meaning === "") throw new Error(`values.yaml: ${path} has no comment`);
    return [[code(path), defaultOf(pair), meaning]];
  });
}

function hasComments(map: YAMLMap): boolean {
  return map.items.some((pair, index) => commentOf(map, pair, index) !== "");
}

/** The parser keeps the comment above a map's first key with the map. */
function commentOf(map: YAMLMap, { key }: Pair, index: number): string {
  const own = isScalar(key) ? key.commentBefore : null;
  const text = own ?? (index === 0 ? map.commentBefore : null) ?? "";
  return text.replaceAll(/\s*\n\s*/g, " ").trim();
}

function defaultOf({ value }: Pair): string {
  const text = JSON.stringify(value);
  return text.length > MAX_DEFAULT ? "see values.yaml" : code(text);
}
