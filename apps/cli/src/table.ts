import { stripVTControlCharacters } from "node:util";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "left" | "right";
  /** Longer cells are cut with `…`. */
  readonly maxWidth?: number;
}

const GAP = "  ";

/** Aligned lines, the titles first. Colours inside cells do not count as width. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = rows.map((row) =>
    columns.map((column) => cut(column.value(row), column.maxWidth ?? Number.POSITIVE_INFINITY)),
  );
  const titles = columns.map((column) => column.title);
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

function widthOf(cell: string): number {
  return Array.from(stripVTControlCharacters(cell)).length;
}
