/** One measured quantity. `ratio` is value divided by baseline, both measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly goal?: string;
  readonly met?: boolean;
}

export interface Report {
  readonly name: string;
  readonly figures: readonly Figure[];
}

/** A figure with its ratio to a baseline of the same run. */
export function compared(
  figure: { name: string; value: number; unit: string; baseline: number },
  goal?: { text: string; holds: (ratio: number) => boolean },
): Figure {
  const ratio = figure.value / figure.baseline;
  return goal === undefined
    ? { ...figure, ratio }
    : { ...figure, ratio, goal: goal.text, met: goal.holds(ratio) };
}

/** A readable table on stdout, and as the last line one JSON object for programs. */
export function printReport(report: Report): void {
  const rows = report.figures.map((figure) => [
    figure.name,
    `${readable(figure.value)} ${figure.unit}`,
    figure.baseline === undefined ? "" : `${readable(figure.baseline)} ${figure.unit}`,
    figure.ratio === undefined ? "" : `${figure.ratio.toFixed(2)}×`,
    figure.goal ?? "",
    figure.met === undefined ? "" : figure.met ? "met" : "missed",
  ]);
  const all = [["figure", "measured", "baseline", "ratio", "goal", ""], ...rows];
  const widths =
    all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of all) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
  console.log(JSON.stringify(report));
}

function readable(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value >= 10 ? value.toFixed(1) : value.toPrecision(3);
}
