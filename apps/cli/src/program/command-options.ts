import type { LogLevel } from "@switchyard/contracts/mcp-broker/mcp-features";
import type { TotalsRange } from "@switchyard/contracts/agent-runner/run-totals";
import type { OnLimit, RunOrder } from "@switchyard/contracts/agent-runner/runs";
import type { BusyPolicy, SessionKind } from "@switchyard/contracts/agent-runner/session-key";
import type { JobCatchUp, JobOverlap, WakeMode } from "@switchyard/contracts/scheduler/schedules";
import type { SkillScope } from "@switchyard/contracts/skill-importer/skills";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { ExitCode } from "../exit-codes.ts";
import type { z } from "zod";
import type { Terminal } from "../terminal.ts";

/** Runs one command: catches its failure, shows it in the requested form, sets the exit code. */
export type Perform = (
  options: { json?: true },
  work: (terminal: Terminal) => Promise<ExitCode | void>,
) => Promise<void>;

/** Declares all commands; `perform` runs them. */
export type BuildProgram = (perform: Perform) => Command;

// A copy of the contracts' enum values: their schemas take longer to load than --help may take. A test compares them.
export const BUSY_POLICIES: readonly BusyPolicy[] = ["enqueue", "steer", "interrupt", "reject"];
export const LIMIT_ENDS: readonly OnLimit[] = ["pause", "fail"];
export const SESSION_KINDS: readonly SessionKind[] = [
  "main",
  "group",
  "cron",
  "hook",
  "node",
  "other",
];
export const RUN_ORDERS: readonly RunOrder[] = ["newest", "oldest", "longest", "dearest"];
export const TOTALS_RANGES: readonly TotalsRange[] = ["1h", "24h", "7d"];
export const WAKE_MODES: readonly z.infer<typeof WakeMode>[] = ["next-heartbeat", "now"];
export const JOB_OVERLAPS: readonly z.infer<typeof JobOverlap>[] = ["skip", "queue", "parallel"];
export const JOB_CATCH_UPS: readonly z.infer<typeof JobCatchUp>[] = ["once", "skip"];
export const SKILL_SCOPES: readonly SkillScope[] = ["project", "user", "workspace", "imported"];
export const THINKING_LEVELS: readonly ThinkingLevel[] = [
  "off",
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];
export const LOG_LEVELS: readonly LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

/** The help text of `--json`. */
export const JSON_TEXT = "print one JSON document; lines of JSON where the output is a stream";

/** The help text of `--cursor` in lists. */
export const CURSOR_TEXT = "the next page: next of the one before, with the same options";

/** The help text of `--wide` in lists. */
export const WIDE_TEXT = "times in full in place of ages such as 3m";

export const port = wholeNumber(1, 65_535);
export const seconds = wholeNumber(1, 86_400);

/** Reads the argument of an option; anything but a whole number between the two is a usage error. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** Reads an amount of US dollars; anything but a number above 0 is a usage error. */
function dollars(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0 && value <= 100_000) return value;
  throw new InvalidArgumentError("It must be a number above 0, up to 100000.");
}

/** A directory that is written to; an empty name, of a variable that is not set, would be the working directory. */
export function directory(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It must name a directory.");
}

/** The limits of a run. `time` is the option of its time, `--max-time` unless the command also waits so long. */
export function withLimits(
  command: Command,
  timeText: string,
  time: "--max-time" | "--wait-for" = "--max-time",
): Command {
  return command
    .option("--max-steps <n>", "limit of model calls", wholeNumber(1, 1_000))
    .option("--max-tool-calls <n>", "limit of tool calls", wholeNumber(0, 10_000))
    .option("--max-tokens <n>", "limit of input and output tokens", wholeNumber(1, 1e9))
    .option("--max-cost <usd>", "limit of cost in US dollars", dollars)
    .option(
      "--max-repeated-calls <n>",
      "how often a call may come to the same result",
      wholeNumber(1, 10_000),
    )
    .option(`${time} <seconds>`, timeText, seconds);
}

/** Collects repeated `key=value` options. */
export function label(text: string, labels: Record<string, string>): Record<string, string> {
  const at = text.indexOf("=");
  if (at > 0) return { ...labels, [text.slice(0, at)]: text.slice(at + 1) };
  throw new InvalidArgumentError("It must look like key=value.");
}

/** The option for a message that arrives while a run of its session is in progress. */
export function busyOption(): Option {
  return new Option(
    "--on-busy <policy>",
    "while a run of the session is under way; left out: as the session says",
  ).choices(BUSY_POLICIES);
}

export function thinkingOption(): Option {
  return new Option(
    "--thinking <level>",
    "how much the model thinks, in place of the agent's own",
  ).choices(THINKING_LEVELS);
}

/** The option for a run that reaches a limit. */
export function limitOption(): Option {
  return new Option(
    "--on-limit <what>",
    "at a limit: end the run, or let it wait for runs resume; left out: as its runner is set",
  ).choices(LIMIT_ENDS);
}

/** `--format json` for compatibility; `inFormat` makes it `--json`. */
export function formatOption(): Option {
  return new Option("--format <format>", "json is the same as --json")
    .choices(["table", "json"])
    .default("table");
}

export function inFormat<Options extends { json?: true }>(
  options: Options & { format: "table" | "json" },
): Options {
  return options.format === "json" ? { ...options, json: true } : options;
}
