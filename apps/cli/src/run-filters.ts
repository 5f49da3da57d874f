import { RunStatus, type runFilters } from "@switchyard/contracts/agent-runner/runs";
import type { z } from "zod";
import { CliError } from "./cli-error.ts";
import { timeOf } from "./time-option.ts";

/** The options that select runs, of lists and totals. */
export interface RunFilterOptions {
  readonly agent?: string;
  readonly model?: string;
  /** One status, or several with commas between them. */
  readonly status?: string;
  readonly error?: string;
  /** `key=value`, or `key` for any value. */
  readonly label: readonly string[];
  readonly text?: string;
  /** A time, or how long ago. */
  readonly from?: string;
  readonly to?: string;
}

type Filter = { -readonly [K in keyof typeof runFilters]?: z.infer<(typeof runFilters)[K]> };

/** The filters of a request. A value that cannot be one is a usage error. */
export function runFilterOf(options: RunFilterOptions): Filter {
  const { agent, model, status, error, label: labels, text } = options;
  const fromAt = timeOf("--from", options.from);
  const toAt = timeOf("--to", options.to);
  return {
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    ...(status !== undefined && statusFilter(status)),
    ...(error !== undefined && { errorCode: error }),
    ...(labels.length > 0 && { labels: [...labels] }),
    ...(text !== undefined && { text }),
    ...(fromAt !== null && { from: fromAt.toISOString() }),
    ...(toAt !== null && { to: toAt.toISOString() }),
  };
}

/** The filters in words, for the reason why a list is empty. */
export function filterTexts(options: RunFilterOptions): string[] {
  const { agent, model, status, error, label, text, from, to } = options;
  const named = { agent, status, model, error, text, from, to };
  return [
    ...Object.entries(named).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${value}`],
    ),
    ...label.map((one) => `label ${one}`),
  ];
}

/** Runners of earlier versions know one status alone. */
function statusFilter(text: string): Pick<Filter, "status" | "statuses"> {
  const statuses = text.split(",").map((word) => {
    const status = RunStatus.safeParse(word.trim());
    if (status.success) return status.data;
    throw new CliError("usage", `--status must be one of ${RunStatus.options.join(", ")}`);
  });
  return statuses.length === 1 ? { status: statuses[0] } : { statuses };
}
