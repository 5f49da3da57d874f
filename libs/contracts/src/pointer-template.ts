import { locate, parsePointer } from "./json-pointer.ts";

const NAMES_SHOWN = 20;

/** A template that cannot be filled: the text names the position, the pointer and the existing names. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/**
 * Fills a template: `{{/pointer}}` becomes the value of the pointer, `{{/pointer | filter}}` passes it through filters from left to right.
 * Braces without a pointer are plain text, and an inserted value is never read as a template again. `where` names the position of the
 * template for errors. Throws a {@link TemplateError} for a pointer that finds nothing and for an unknown filter.
 */
export function fillTemplate(template: string, document: unknown, where: string): string {
  let filled = "";
  let rest = 0;
  while (rest < template.length) {
    const open = template.indexOf("{{", rest);
    const close = open < 0 ? -1 : template.indexOf("}}", open);
    if (close < 0) break;
    const expression = template.slice(open + 2, close).trim();
    if (expression.startsWith("/")) {
      filled += template.slice(rest, open) + evaluate(expression, document, where);
      rest = close + 2;
    } else {
      filled += template.slice(rest, open + 2);
      rest = open + 2;
    }
  }
  return filled + template.slice(rest);
}

/** Replaces every `{ "$from": "/pointer" }` inside a value by the value of the pointer. Throws as {@link fillTemplate} does. */
export function fillValue(value: unknown, document: unknown, where: string): unknown {
  if (Array.isArray(value)) return value.map((item) => fillValue(item, document, where));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only?.[0] === "$from" && typeof only[1] === "string") {
    return lookUp(only[1], document, where);
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, fillValue(item, document, where)]));
}

function evaluate(expression: string, document: unknown, where: string): string {
  const [pointer = "", ...filters] = expression.split("|").map((part) => part.trim());
  let value = lookUp(pointer, document, where);
  for (const filter of filters) value = applyFilter(filter, value, where);
  return textOf(value);
}

function lookUp(pointer: string, document: unknown, where: string): unknown {
  const tokens = parsePointer(pointer);
  if (tokens === null) {
    throw new TemplateError(`${where}: ${pointer} is not a JSON pointer such as /input/path`);
  }
  const located = locate(document, tokens);
  if (located.kind === "found") return located.value;
  const there = namesAt(document, tokens).slice(0, NAMES_SHOWN).join(", ");
  throw new TemplateError(
    `${where}: pointer ${pointer} finds nothing at "${located.at}"; there is ${there || "nothing"}`,
  );
}

/** The names at the position where a pointer ended. */
function namesAt(document: unknown, tokens: readonly string[]): string[] {
  let names: string[] = [];
  for (let length = 0; length < tokens.length; length += 1) {
    const located = locate(document, tokens.slice(0, length));
    if (located.kind !== "found") break;
    const { value } = located;
    names = typeof value === "object" && value !== null ? Object.keys(value) : [];
  }
  return names;
}

const FILTERS: Readonly<Record<string, (text: string) => string>> = {
  firstLine: (text) =>
    linesOf(text)
      .find((line) => line.trim() !== "")
      ?.trim() ?? "",
  lineCount: (text) => String(text === "" ? 0 : linesOf(text.replace(/\r?\n$/, "")).length),
  wordCount: (text) => String(text.split(/\s+/).filter((word) => word !== "").length),
  headings: (text) => headingsOf(text).join("\n"),
  trim: (text) => text.trim(),
};

/** Throws a {@link TemplateError} for an unknown filter. */
export function checkFilters(filters: readonly string[]): void {
  for (const filter of filters) filterNamed(filter);
}

function applyFilter(filter: string, value: unknown, where: string): string {
  if (filter === "json") return JSON.stringify(value) ?? "null";
  try {
    return filterNamed(filter)(textOf(value));
  } catch (error) {
    throw error instanceof TemplateError ? new TemplateError(`${where}: ${error.message}`) : error;
  }
}

function filterNamed(filter: string): (text: string) => string {
  if (filter === "json") return (text) => JSON.stringify(text);
  const [name = "", count, ...more] = filter.split(/\s+/);
  if (name === "lines" && count !== undefined && /^\d{1,6}$/.test(count) && more.length === 0)
    return (text) => linesOf(text).slice(0, Number(count)).join("\n");
  const apply = Object.hasOwn(FILTERS, name) && count === undefined ? FILTERS[name] : undefined;
  if (apply !== undefined) return apply;
  throw new TemplateError(
    `there is no filter "${filter}"; the filters are ${Object.keys(FILTERS).join(", ")}, lines N and json`,
  );
}

/** Markdown headings outside code fences, as a list that keeps their depth. */
function headingsOf(text: string): string[] {
  const headings: string[] = [];
  let isInFence = false;
  for (const line of linesOf(text)) {
    if (line.startsWith("```") || line.startsWith("~~~")) isInFence = !isInFence;
    const [, marks, title] = /^(#{1,6})[ \t]+(.*)$/.exec(line) ?? [];
    if (isInFence || marks === undefined || title === undefined) continue;
    headings.push(
      `${"  ".repeat(marks.length - 1)}- ${title.replace(/[ \t]+#+[ \t]*$/, "").trim()}`,
    );
  }
  return headings;
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
