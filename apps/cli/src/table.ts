import { stripVTControlCharacters } from "node:util";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "left" | "right";
  /** Longer cells are cut with `…`. */
  readonly maxWidth?: number;
  /** True for a column that is left out where the screen is too narrow for all; --json has it. */
  readonly isSpare?: boolean;
}

const GAP = "  ";
/** A column that may be cut keeps so much. */
const NARROWEST = 12;
/** A narrower value is harder to read than a line that the terminal breaks. */
const NARROWEST_RECORD = 24;

/**
 * Aligned lines, the titles first; on a screen that is too narrow for them one field a line, with a blank line between the rows. Colours
 * inside cells do not count as width.
 */
export function tableLines<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  screen: number = screenWidth(),
): string[] {
  const columns = fittingColumns(all, rows, screen);
  const whole = cellsOf(columns, rows);
  const most = fittingWidths(columns, whole, screen);
  const cells = whole.map((line) =>
    line.map((cell, index) => cut(cell, most[index] ?? Number.POSITIVE_INFINITY)),
  );
  const titles = columns.map((column) => column.title);
  if (rows.length > 0 && lineWidth(most) > screen) return recordLines(titles, whole, screen);
  const widths = columns.map((_, index) =>
    Math.max(...[titles, ...cells].map((line) => widthOf(line[index] ?? ""))),
  );
  return [titles, ...cells].map((line) =>
    line
      .map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.align ?? "left"))
      .join(GAP)
      .trimEnd(),
  );
}

/** Leaves out spare columns, the last ones first, until the others fit; all of them when even that is not enough. */
function fittingColumns<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  screen: number,
): readonly Column<Row>[] {
  let columns = all;
  for (;;) {
    if (lineWidth(fittingWidths(columns, cellsOf(columns, rows), screen)) <= screen) return columns;
    const spare = columns.findLastIndex(({ isSpare }) => isSpare === true);
    if (spare < 0) return all;
    columns = columns.toSpliced(spare, 1);
  }
}

function cellsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[][] {
  return rows.map((row) =>
    columns.map((column) => cut(column.value(row), column.maxWidth ?? Number.POSITIVE_INFINITY)),
  );
}

/** Every field in a line of its own, and nothing is cut. */
function recordLines(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  screen: number,
): string[] {
  const indent = Math.max(...titles.map(widthOf)) + GAP.length;
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : [""]),
    ...row.flatMap((cell, at) =>
      cell === ""
        ? []
        : brokenLines(cell, Math.max(NARROWEST_RECORD, screen - indent)).map(
            (line, part) => `${pad(part === 0 ? (titles[at] ?? "") : "", indent, "left")}${line}`,
          ),
    ),
  ]);
}

/** Lines of at most this width, as far as words allow. */
export function brokenLines(text: string, width: number): string[] {
  return joinedUpTo(text.split(" "), width);
}

/**
 * A text for the screen: lines that are wider are broken at their blanks, with the indentation that they have. A command line is not broken, so
 * that it can be copied.
 */
export function screenText(text: string, screen: number): string {
  const shown = text.split("\n").flatMap((line) => {
    if (widthOf(line) <= screen) return [line];
    const [, indent = "", rest = ""] = /^((?:\s|→ )*)(.*)$/.exec(line) ?? [];
    const at = rest.search(/\.\/yard |npx @switchyard/);
    const before = at < 0 ? rest : rest.slice(0, at).trimEnd();
    const words = [
      ...(before === "" ? [] : before.split(" ")),
      ...(at < 0 ? [] : [rest.slice(at)]),
    ];
    const lines = joinedUpTo(words, screen - indent.length);
    return lines.map((part, index) => (index === 0 ? indent : " ".repeat(indent.length)) + part);
  });
  return shown.join("\n");
}

function joinedUpTo(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

/** The width of a terminal; output that goes elsewhere is never cut. A terminal that does not know its size reports 0. */
export function screenWidth(
  { isTTY, columns }: Pick<NodeJS.WriteStream, "isTTY" | "columns"> = process.stdout,
): number {
  return isTTY && columns > 0 ? columns : Number.POSITIVE_INFINITY;
}

/** Cut columns give up width, the widest first, until the table fits the screen. */
function fittingWidths<Row>(
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
  screen: number,
): number[] {
  const widths = columns.map(({ title }, index) =>
    Math.max(...[title, ...cells.map((line) => line[index] ?? "")].map(widthOf)),
  );
  let over = lineWidth(widths) - screen;
  while (over > 0) {
    const cuttable = columns.flatMap(({ maxWidth }, index) =>
      maxWidth !== undefined && (widths[index] ?? 0) > NARROWEST ? [index] : [],
    );
    const [widest] = cuttable.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  return widths;
}

function pad(cell: string, width: number, align: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, width - widthOf(cell)));
  return align === "right" ? space + cell : cell + space;
}

function cut(cell: string, maxWidth: number): string {
  const line = cell.replaceAll(/\s+/g, " ").trim();
  return widthOf(line) <= maxWidth
    ? line
    : `${Array.from(line)
        .slice(0, maxWidth - 1)
        .join("")}…`;
}

export function widthOf(cell: string): number {
  return Array.from(stripVTControlCharacters(cell)).length;
}
