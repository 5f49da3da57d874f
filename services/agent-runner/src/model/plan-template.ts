import { locate, parsePointer } from "@switchyard/contracts/json-pointer";

/** What a call of a plan came to. */
export interface PlanResult {
  readonly text: string;
  readonly isError: boolean;
}

/** What the pointers of a plan look into. */
export interface PlanDocument {
  readonly input: unknown;
  readonly results: Readonly<Record<string, PlanResult>>;
  /** The result of the last call of the step before; missing at the first step. */
  readonly last?: PlanResult;
}

/** A plan that cannot be carried out: the text names the step and the pointer. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

/**
 * Fills a template: `{{/pointer}}` becomes what the pointer finds, `{{/pointer | filter}}` passes it
 * through filters from left to right. Braces that hold no pointer are plain text, and what was
 * inserted is never read as a template again. `where` names the place in the plan for errors.
 */
export function fillTemplate(template: string, document: PlanDocument, where: string): string {
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

/** Replaces every `{ "$from": "/pointer" }` inside a value; see the contract of a plan. */
export function fillValue(value: unknown, document: PlanDocument, where: string): unknown {
  if (Array.isArray(value)) return value.map((item) => fillValue(item, document, where));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only?.[0] === "$from" && typeof only[1] === "string") {
    return lookUp(only[1], document, where);
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, fillValue(item, document, where)]));
}

function evaluate(expression: string, document: PlanDocument, where: string): string {
  const [pointer = "", ...filters] = expression.split("|").map((part) => part.trim());
  let value = lookUp(pointer, document, where);
  for (const filter of filters) value = applyFilter(filter, value, where);
  return textOf(value);
}

function lookUp(pointer: string, document: PlanDocument, where: string): unknown {
  const tokens = parsePointer(pointer);
  if (tokens === null) {
    throw new PlanError(`${where}: ${pointer} is not a JSON pointer such as /results/0/text`);
  }
  const located = locate(document, tokens);
  if (located.kind === "found") return located.value;
  throw new PlanError(
    `${where}: pointer ${pointer} finds nothing at "${located.at}"; ` +
      `there are results named ${Object.keys(document.results).join(", ") || "(none yet)"}`,
  );
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

function applyFilter(filter: string, value: unknown, where: string): string {
  if (filter === "json") return JSON.stringify(value) ?? "null";
  const [name = "", count, ...more] = filter.split(/\s+/);
  if (name === "lines" && count !== undefined && /^\d{1,6}$/.test(count) && more.length === 0) {
    return linesOf(textOf(value)).slice(0, Number(count)).join("\n");
  }
  const apply = Object.hasOwn(FILTERS, name) && count === undefined ? FILTERS[name] : undefined;
  if (apply === undefined) {
    throw new PlanError(
      `${where}: there is no filter "${filter}"; the filters are ${Object.keys(FILTERS).join(", ")}, lines N and json`,
    );
  }
  return apply(textOf(value));
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
