import { client } from "@switchyard/bus/call";
import {
  totalRuns,
  type NamedRunSums,
  type TotalsRange,
} from "@switchyard/contracts/agent-runner/run-totals";
import { findBus, withBus } from "../bus-session.ts";
import { fieldLines } from "../field-lines.ts";
import { printableLine } from "../printable.ts";
import { count, formatDuration, formatUsd } from "../quantities.ts";
import { runFilterOf, type RunFilterOptions } from "../run-filters.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface TotalsOptions extends RunFilterOptions {
  readonly json?: true;
  readonly range?: TotalsRange;
}

/** `yard runs totals`: how many runs, how they ended, what they cost, by agent, model and error. */
export async function totals(terminal: Terminal, options: TotalsOptions): Promise<void> {
  const filter = runFilterOf(options);
  const { range } = options;
  const found = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { totalRuns }).totalRuns({ ...filter, ...(range !== undefined && { range }) }),
  );
  if (options.json) return writeJson(terminal, found);
  const { now, from, to, total, statuses, durationMs, searchedFrom } = found;
  const ended = Object.entries(statuses).filter(([, runs]) => runs > 0);
  const { p50, p95, max } = durationMs;
  const fields: [string, string][] = [
    ["now", `${now.running} running, ${now.waiting} waiting`],
    ["range", `${from} to ${to}`],
    ["runs", [total.runs, ...ended.map(([status, runs]) => `${runs} ${status}`)].join(", ")],
    ["cost", costText(total)],
    ["tokens", `${total.inputTokens} in, ${total.outputTokens} out`],
    ...(p50 === null || p95 === null || max === null
      ? []
      : [
          [
            "took",
            `half at most ${formatDuration(p50)}, 95 % at most ${formatDuration(p95)}, the longest ${formatDuration(max)}`,
          ] as [string, string],
        ]),
  ];
  for (const line of fieldLines(fields)) terminal.out(line);
  for (const [title, rows] of [
    ["AGENT", found.agents],
    ["MODEL", found.models],
    ["ERROR", found.errors],
    ["BY", found.requesters],
  ] as const) {
    if (rows.length === 0) continue;
    for (const line of ["", ...sumLines(title, rows)]) terminal.out(line);
  }
  if (searchedFrom !== null)
    terminal.note(`runs that began before ${searchedFrom} are not counted`);
}

/** The table of one grouping. */
export function sumLines(title: string, rows: readonly NamedRunSums[]): string[] {
  return tableLines(
    [
      { title, value: ({ name }) => printableLine(name ?? "(others)"), maxWidth: 60 },
      { title: "RUNS", value: ({ runs }) => String(runs), align: "right" },
      { title: "FAILED", value: ({ failed }) => String(failed), align: "right" },
      { title: "COST", value: costCell, align: "right" },
      {
        title: "TOKENS",
        value: ({ inputTokens, outputTokens }) => String(inputTokens + outputTokens),
        align: "right",
        isSpare: true,
      },
    ],
    rows,
  );
}

/** A sum that lacks runs of unknown price states their number. */
function costCell({ costUsd, unpriced }: { costUsd: number; unpriced: number }): string {
  const known = formatUsd(costUsd);
  return unpriced === 0 ? known : `${known} + ${unpriced} unknown`;
}

function costText({ costUsd, unpriced }: { costUsd: number; unpriced: number }): string {
  const known = formatUsd(costUsd);
  return unpriced === 0 ? known : `${known}, and ${count(unpriced, "run")} of unknown price`;
}
