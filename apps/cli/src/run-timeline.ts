import type { StoredEvent } from "@switchyard/bus/stored-event";
import type { Event } from "@switchyard/contracts/define";
import type { Decision } from "@switchyard/contracts/policy/policy";
import {
  childEnded,
  childStarted,
  modelResponded,
  questionAnswered,
  questionRequested,
  runCancelled,
  runDead,
  runFailed,
  runFinished,
  runDelayed,
  runMerged,
  runQueued,
  runRejected,
  runResumed,
  runLimitsChanged,
  runRetried,
  runStarted,
  runToolsUnavailable,
  runSteered,
  runWaiting,
  runWoken,
  skillActivated,
  toolCompleted,
  toolDenied,
  toolFailed,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { scopeText, type StopInForce } from "@switchyard/contracts/policy/policy-budgets";
import type { ReachedLimit, RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import type { z } from "zod";
import { modelLabel } from "./model-label.ts";
import { printableLine } from "./printable.ts";
import { count, formatBytes, formatDuration, formatUsd } from "./quantities.ts";
import { brokenLines } from "./table.ts";
import type { Style } from "./terminal.ts";

/** One line of a run's story. */
export interface TimelineLine {
  readonly mark: string;
  readonly label: string;
  readonly text: string;
  readonly style: Style;
}

const PREVIEW = 100;

/** Renders an event of a run for a person; empty for events of other nouns. */
export function timelineLines(event: StoredEvent): TimelineLine[] {
  return FORMATTERS.flatMap((format) => format(event));
}

/** The width of the time, mark and label before each text. */
const MARGIN = 22;
const NARROWEST = 24;

/** `+1.23s  ▸ started   demo …`, without colour when `paint` adds none; broken at its blanks where it is wider than the screen. */
export function timelineText(
  line: TimelineLine,
  offsetMs: number,
  paint: (style: Style, text: string) => string,
  screen: number = Number.POSITIVE_INFINITY,
): string {
  const offset = `${(Math.max(0, offsetMs) / 1_000).toFixed(2)}s`.padStart(8);
  const mark = paint(line.style, `${line.mark} ${line.label.padEnd(9)}`);
  const lines = brokenLines(line.text, Math.max(NARROWEST, screen - MARGIN));
  return `${paint("dim", offset)}  ${mark} ${lines.join(`\n${" ".repeat(MARGIN)}`)}`;
}

/** The payload of an event when it is this contract's and fits its schema, else null. */
export function payloadOf<E extends Event>(
  event: StoredEvent,
  contract: E,
): z.output<E["payload"]> | null {
  if (event.contract?.name !== contract.name) return null;
  const parsed = contract.payload.safeParse(event.payload);
  return parsed.success ? (parsed.data as z.output<E["payload"]>) : null; // E's own schema parsed it
}

type Formatter = (event: StoredEvent) => TimelineLine[];

const FORMATTERS: readonly Formatter[] = [
  formatterOf(runRejected, (event) => [
    entry("✗", "rejected", `${event.code}: ${event.message}`, "red"),
    ...event.problems.map((problem) => entry(" ", "", problem, "red")),
  ]),
  formatterOf(runQueued, ({ sessionKey, position }) => [
    entry("…", "waits", `number ${position} in session ${sessionKey}, behind its run`, "yellow"),
  ]),
  formatterOf(runDelayed, ({ reason }) => [
    entry("…", "delayed", `the run starts when the service is back: ${reason}`, "yellow"),
  ]),
  formatterOf(runMerged, ({ sessionKey, into }) => [
    entry("↪", "merged", `into run ${into} of session ${sessionKey}`, "magenta"),
  ]),
  formatterOf(runStarted, (event) => [
    entry("▸", "started", `${event.agent} on ${modelLabel(event.model)}`, "cyan"),
  ]),
  formatterOf(runResumed, (event) => [
    entry(
      "↻",
      "resumed",
      `attempt ${event.attempt}: another runner continues after ${count(event.journalEntries, "journal entry", "journal entries")}`,
      "yellow",
    ),
  ]),
  formatterOf(runToolsUnavailable, ({ servers }) =>
    servers.length === 0
      ? [entry("✓", "tools", "those of all servers are available again", "green")]
      : servers.map(({ server, reason }) =>
          entry("!", "tools", `of server ${server} were not available: ${reason}`, "yellow"),
        ),
  ),
  formatterOf(skillActivated, (event) => [
    entry("✦", "skill", `${event.skill} is active`, "magenta"),
  ]),
  formatterOf(modelResponded, (event) => [entry("◆", "model", modelText(event), "cyan")]),
  formatterOf(toolRequested, (event) => [
    entry("→", "call", `${event.tool} ${printableLine(event.argsPreview, PREVIEW)}`, "blue"),
  ]),
  formatterOf(toolCompleted, (event) => [
    ...(event.decision === null ? [] : [decided(event.decision)]),
    entry(
      event.isError ? "!" : "←",
      event.isError ? "error" : "result",
      [
        `${event.tool}: ${formatBytes(event.textBytes)} in ${formatDuration(event.durationMs)}`,
        ...(event.replayed ? ["(stored result of an earlier call)"] : []),
        printableLine(event.preview, PREVIEW),
      ].join("  "),
      event.isError ? "yellow" : "green",
    ),
  ]),
  formatterOf(toolDenied, (event) => [decided(event.decision)]),
  formatterOf(toolFailed, (event) => [
    entry("!", "failed", `${event.tool}: ${event.code}: ${event.message}`, "yellow"),
  ]),
  formatterOf(runWaiting, ({ waits, until }) => [
    entry("…", "waiting", `for ${waits.map(waitText).join(", ")}${untilText(until)}`, "yellow"),
  ]),
  formatterOf(runWoken, () => [entry("↻", "continues", "what it waited for is here", "cyan")]),
  formatterOf(questionRequested, ({ question, options }) => [
    entry("?", "asks", [question, ...options.map((option) => `[${option}]`)].join(" "), "magenta"),
  ]),
  formatterOf(questionAnswered, ({ by }) => [entry("?", "answered", `by ${by}`, "magenta")]),
  formatterOf(childStarted, ({ agent, childRunId }) => [
    entry("↳", "child", `${agent} works as ${childRunId}`, "blue"),
  ]),
  formatterOf(childEnded, ({ childRunId, status }) => [
    entry("↲", "child", `${childRunId} ${status}`, status === "succeeded" ? "green" : "yellow"),
  ]),
  formatterOf(runSteered, ({ by, preview }) => [
    entry("↪", "steered", `by ${by}: ${printableLine(preview, PREVIEW)}`, "magenta"),
  ]),
  formatterOf(runDead, ({ failure, costUsd }) => [
    entry("✗", "dead", `${failure.code}: ${failure.message}${costText(costUsd)}`, "red"),
  ]),
  formatterOf(runFinished, (event) => [
    entry(
      "■",
      "finished",
      `${count(event.steps, "step")}, ${count(event.toolCalls, "tool call")}${deniedText(event)}, ${formatDuration(event.durationMs)}${costText(event.costUsd)}, ${modelLabel(event.model)}`,
      event.deniedCalls === undefined ? "green" : "yellow",
    ),
  ]),
  formatterOf(runFailed, (event) => [
    entry(
      "✗",
      "failed",
      `${event.failure.code}: ${event.failure.message}${costText(event.costUsd)}`,
      "red",
    ),
  ]),
  formatterOf(runCancelled, (event) => [
    entry("■", "cancelled", `${cancelText(event)}${costText(event.costUsd)}`, "yellow"),
  ]),
  formatterOf(runRetried, ({ by, limits }) => [
    entry("↻", "retried", `by ${by}: ${limitsText(limits)}`, "yellow"),
  ]),
  formatterOf(runLimitsChanged, ({ by, limits }) => [
    entry("↻", "limits", `by ${by}: ${limitsText(limits)}`, "cyan"),
  ]),
];

function limitsText(limits: z.output<typeof runRetried.payload>["limits"]): string {
  const { maxSteps, maxToolCalls, maxTokens, maxCostUsd, timeoutMs } = limits;
  return [
    `up to ${count(maxSteps, "step")}`,
    ...(maxToolCalls === null ? [] : [count(maxToolCalls, "tool call")]),
    ...(maxTokens === undefined ? [] : [count(maxTokens, "token")]),
    ...(maxCostUsd === undefined ? [] : [`$${maxCostUsd}`]),
    formatDuration(timeoutMs),
  ].join(", ");
}

/** Empty where the price is not known, and where nothing is paid. */
function costText(costUsd: number | null | undefined): string {
  return costUsd === undefined || costUsd === null || costUsd === 0
    ? ""
    : `, ${formatUsd(costUsd)}`;
}

/** Names the user who cancelled a run, and the reason. */
export function cancelText({ by, reason }: { by: string; reason: string | null }): string {
  return reason === null ? `by ${by}` : `by ${by}: ${reason}`;
}

function formatterOf<E extends Event>(
  contract: E,
  format: (payload: z.output<E["payload"]>) => TimelineLine[],
): Formatter {
  return (event) => {
    const payload = payloadOf(event, contract);
    return payload === null ? [] : format(payload);
  };
}

/** Describes a run's wait for a person. */
export function waitText({ reason, tool, childRunId, approvalId, limit, stop }: RunWait): string {
  switch (reason) {
    case "approval":
      return `an approval of ${tool}${approvalId === undefined ? "" : ` (${approvalId})`}`;
    case "child":
      return `its child ${childRunId ?? "run"}`;
    case "question":
      return "an answer";
    case "timer":
      return "its time";
    case "limit":
      return limit === undefined ? "a higher limit" : limitText(limit);
    case "stopped":
      return stop === undefined ? "the end of a stop" : stoppedText(stop);
    default:
      return reason satisfies never;
  }
}

/** Describes a stop and its reason. */
function stoppedText({ scope, reason }: StopInForce): string {
  const why = reason === "" ? "" : ` (${reason})`;
  return `the end of a stop of ${scopeText(scope)}${why}`;
}

function limitText({ limit, value, team }: ReachedLimit): string {
  return team === undefined
    ? `a higher limit than ${limit} ${value}; raise it with: ./yard runs resume`
    : `its team: ${team.name} has used up its ${limit} (${value}) of this ${team.per}`;
}

function untilText(until: string | null): string {
  return until === null ? "" : `, at most until ${until}`;
}

function modelText(event: z.output<typeof modelResponded.payload>): string {
  if (event.toolCalls === 0) return "answers";
  if (event.text === "") return `asks for ${count(event.toolCalls, "tool call")}`;
  return printableLine(event.text, PREVIEW);
}

function decided(decision: Decision): TimelineLine {
  const isAllowed = decision.effect === "allow";
  const rule = decision.rule === null ? "" : `rule ${decision.rule}`;
  // Most reasons name their rule themselves; without a rule, a budget or a stop decided.
  const text = decision.reason.includes(rule) ? decision.reason : `${rule}: ${decision.reason}`;
  return entry(
    isAllowed ? "✓" : "✗",
    isAllowed ? "allowed" : "denied",
    text,
    isAllowed ? "green" : "red",
  );
}

function entry(mark: string, label: string, text: string, style: Style): TimelineLine {
  return { mark, label, text: printableLine(text), style };
}

/** A run may succeed although none of its calls was made, as where no rules are set. */
function deniedText({
  deniedCalls,
  toolCalls,
}: {
  readonly deniedCalls?: number | undefined;
  readonly toolCalls: number;
}): string {
  if (deniedCalls === undefined) return "";
  const which = deniedCalls === toolCalls ? "all" : String(deniedCalls);
  return ` (${which} denied; why: ./yard policy explain TOOL --run last)`;
}
