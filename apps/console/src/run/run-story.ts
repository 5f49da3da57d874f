import type { RunMessage } from "@switchyard/client/follow";
import type {
  Decision,
  RunStatus,
  RunWait,
  UnavailableServer,
  Usage,
} from "@switchyard/client/operations";
import { scopeText } from "../core/format.ts";
import { toolText } from "../core/names.ts";
import { wordOr, type ToolWord, type Word } from "../ui/statuses.ts";
import { limitText } from "./limits.ts";

type SpanKind = "model" | "tool" | "wait" | "child" | "question" | "note";

/** Something that took time in a run, or a note of a moment: one line of the timeline. */
export interface Span {
  readonly id: string;
  readonly kind: SpanKind;
  readonly title: string;
  status: Word;
  readonly step: number | null;
  readonly startMs: number;
  /** Null while it is open. */
  endMs: number | null;
  /** In a few words. */
  detail: string;
  decision: Decision | null;
  readonly childRunId?: string;
  /** Set for calls that a person had to decide about. */
  approvalIds?: readonly string[];
  costUsd?: number | null;
  usage?: Usage;
  /** The result: the events, as they were published. */
  readonly events: RunMessage[];
}

export type ToolSpan = Span & { status: ToolWord };

/** One turn of the conversation. */
export interface Turn {
  readonly id: string;
  readonly who: "model" | "tool" | "person" | "note";
  readonly step: number | null;
  text: string;
  /** True while text arrives. */
  isLive: boolean;
  /** Set for a tool call: the line of the timeline. */
  readonly span?: ToolSpan;
}

/** The status of a run, with those that it never began in. */
export type RunWord = RunStatus | "queued" | "rejected" | "merged";

/** The state of a run at one moment. */
export type StorySoFar = Omit<RunStory, "take">;

/** A run's state, built from its events as they arrive: each costs the same however long the run is. */
export class RunStory {
  readonly messages: RunMessage[] = [];
  readonly spans: Span[] = [];
  readonly turns: Turn[] = [];
  status: RunWord = "queued";
  startMs: number | null = null;
  endMs: number | null = null;
  lastMs = 0;
  steps = 0;
  toolCalls = 0;
  inputTokens = 0;
  outputTokens = 0;
  cacheReadTokens = 0;
  /** Null when a price is not known. */
  costUsd: number | null = 0;
  output: string | null = null;
  /** The reason why the run was rejected. */
  rejection: { readonly code: string; readonly message: string } | null = null;
  waits: readonly RunWait[] = [];
  unavailable: readonly UnavailableServer[] = [];
  /** MCP servers of the tools that it called. */
  readonly servers = new Set<string>();
  readonly #open = new Map<string, Span>();
  readonly #live = new Map<number, Turn>();
  /** Calls that the run waits for, such as one that a person has to approve. */
  readonly #waiting: Span[] = [];

  take(message: RunMessage): void {
    if (message.event === "delta") return this.#delta(message.data);
    this.messages.push(message);
    const ms = Date.parse(message.data.at);
    this.startMs ??= ms;
    this.lastMs = Math.max(this.lastMs, ms);
    this.#report(message, ms);
  }

  #report(message: RunMessage, ms: number): void {
    switch (message.event) {
      case "model-responded":
        return this.#model(message, ms);
      case "tool-requested":
        return this.#toolBegins(message, ms);
      case "tool-completed":
      case "tool-denied":
      case "tool-failed":
        return this.#toolEnds(message, ms);
      case "waiting":
      case "woken":
        return this.#wait(message, ms);
      case "child-started":
      case "child-ended":
      case "question-requested":
      case "question-answered":
        return this.#others(message, ms);
      case "finished":
      case "failed":
      case "cancelled":
      case "dead":
      case "rejected":
      case "merged":
        return this.#end(message, ms);
      default:
        return this.#note(message, ms);
    }
  }

  #model(message: RunMessage & { event: "model-responded" }, ms: number): void {
    const { step, model, text, toolCalls, usage, durationMs, costUsd } = message.data;
    this.steps = Math.max(this.steps, step);
    this.inputTokens += usage.inputTokens;
    this.outputTokens += usage.outputTokens;
    this.cacheReadTokens += usage.cacheReadTokens ?? 0;
    this.costUsd = this.costUsd === null || costUsd === null ? null : this.costUsd + (costUsd ?? 0);
    this.#push({
      kind: "model",
      title: model,
      status: "done",
      step,
      startMs: ms - durationMs,
      endMs: ms,
      detail:
        toolCalls === 0 ? "answers" : `asks for ${toolCalls} ${toolCalls === 1 ? "call" : "calls"}`,
      usage,
      ...(costUsd !== undefined && { costUsd }),
      events: [message],
    });
    const turn = this.#live.get(step);
    this.#live.delete(step);
    if (turn !== undefined) {
      turn.text = text;
      turn.isLive = false;
    } else if (text !== "") this.#turn("model", step, text);
  }

  #delta({ step, delta, kind }: { step: number; delta: string; kind?: string }): void {
    const turn = this.#live.get(step) ?? this.#turn("model", step, "");
    this.#live.set(step, turn);
    turn.isLive = true;
    turn.text = kind === "reset-step" ? delta : turn.text + delta;
  }

  #toolBegins(message: RunMessage & { event: "tool-requested" }, ms: number): void {
    const { step, callId, tool, argsPreview } = message.data;
    this.toolCalls += 1;
    const server = /^mcp__(.+?)__/.exec(tool)?.[1];
    if (server !== undefined) this.servers.add(server);
    const span = this.#push<ToolWord>({
      kind: "tool",
      title: toolText(tool),
      status: "running",
      step,
      startMs: ms,
      endMs: null,
      detail: argsPreview,
      events: [message],
    });
    this.#open.set(callId, span);
    this.turns.push({
      id: `t${this.turns.length}`,
      who: "tool",
      step,
      text: argsPreview,
      isLive: false,
      span,
    });
  }

  #toolEnds(
    message: RunMessage & { event: "tool-completed" | "tool-denied" | "tool-failed" },
    ms: number,
  ): void {
    const span = this.#open.get(message.data.callId);
    if (span === undefined) return this.#note(message, ms);
    this.#open.delete(message.data.callId);
    span.endMs = ms;
    span.events.push(message);
    if (message.event === "tool-completed") {
      span.status = message.data.isError ? "error" : "done";
      span.decision = message.data.decision;
    } else if (message.event === "tool-denied") {
      span.status = "denied";
      span.decision = message.data.decision;
    } else {
      span.status = "failed";
      span.detail = `${message.data.code}: ${message.data.message}`;
    }
  }

  #wait(message: RunMessage & { event: "waiting" | "woken" }, ms: number): void {
    if (message.event === "woken") {
      this.#closeWait(ms, message);
      this.status = "running";
      return;
    }
    this.status = "waiting";
    this.waits = message.data.waits;
    const approvalIds = message.data.waits.flatMap(({ approvalId }) => approvalId ?? []);
    for (const { callId, approvalId } of message.data.waits) {
      const call = this.#open.get(callId);
      if (call === undefined) continue;
      call.status = "waiting";
      this.#waiting.push(call);
      if (approvalId !== undefined) call.approvalIds = [approvalId];
    }
    const span = this.#push({
      kind: "wait",
      title: `waits for ${message.data.waits.map(waitText).join(", ")}`,
      status: "waiting",
      step: null,
      startMs: ms,
      endMs: null,
      detail: "",
      approvalIds,
      events: [message],
    });
    this.#open.set("wait", span);
  }

  #closeWait(ms: number, message?: RunMessage): void {
    this.waits = [];
    for (const call of this.#waiting.splice(0))
      if (call.status === "waiting") call.status = "running";
    const span = this.#open.get("wait");
    if (span === undefined) return;
    this.#open.delete("wait");
    span.endMs = ms;
    span.status = "done";
    if (message !== undefined) span.events.push(message);
  }

  #others(
    message: RunMessage & {
      event: "child-started" | "child-ended" | "question-requested" | "question-answered";
    },
    ms: number,
  ): void {
    const isChild = message.event === "child-started" || message.event === "child-ended";
    const key = `${isChild ? "child" : "question"} ${message.data.callId}`;
    if (message.event === "child-ended" || message.event === "question-answered") {
      const span = this.#open.get(key);
      if (span === undefined) return this.#note(message, ms);
      this.#open.delete(key);
      span.endMs = ms;
      const ended = message.event === "child-ended" ? message.data.status : "done";
      span.status = wordOr(ended, "done");
      span.events.push(message);
      return;
    }
    const isStart = message.event === "child-started";
    const span = this.#push({
      kind: isStart ? "child" : "question",
      title: isStart ? `child run of ${message.data.agent}` : message.data.question,
      status: isStart ? "running" : "waiting",
      step: null,
      startMs: ms,
      endMs: null,
      detail: "",
      ...(isStart && { childRunId: message.data.childRunId }),
      events: [message],
    });
    this.#open.set(key, span);
  }

  #end(
    message: RunMessage & {
      event: "finished" | "failed" | "cancelled" | "dead" | "rejected" | "merged";
    },
    ms: number,
  ): void {
    // A rejected steer does not end the run that it was meant for.
    const isOfRun = message.event !== "rejected" || this.startMs === ms;
    if (!isOfRun) return this.#note(message, ms);
    this.#closeWait(ms);
    this.status = message.event === "finished" ? "succeeded" : message.event;
    this.endMs = ms;
    if (message.event === "finished") this.output = message.data.output;
    if (message.event === "rejected") {
      const { code, problems } = message.data;
      this.rejection = { code, message: [message.data.message, ...problems].join("\n") };
    }
    if ("costUsd" in message.data && message.data.costUsd !== undefined)
      this.costUsd = message.data.costUsd;
    for (const turn of this.#live.values()) turn.isLive = false;
    this.#note(message, ms);
  }

  #note(message: RunMessage, ms: number): void {
    if (message.event === "started" || message.event === "resumed" || message.event === "retried") {
      this.status = "running";
      this.endMs = null;
    }
    if (message.event === "steered") this.#turn("person", null, message.data.preview);
    if (message.event === "tools-unavailable") this.unavailable = message.data.servers;
    this.#push({
      kind: "note",
      title: noteTitle(message),
      status: NOTE_STATUS[message.event] ?? "note",
      step: null,
      startMs: ms,
      endMs: ms,
      detail: noteDetail(message),
      events: [message],
    });
  }

  #turn(who: Turn["who"], step: number | null, text: string): Turn {
    const turn: Turn = { id: `t${this.turns.length}`, who, step, text, isLive: false };
    this.turns.push(turn);
    return turn;
  }

  #push<W extends Word>(
    span: Omit<Span, "id" | "decision"> & { status: W; decision?: Decision },
  ): Span & { status: W } {
    const whole: Span & { status: W } = { decision: null, ...span, id: `s${this.spans.length}` };
    this.spans.push(whole);
    return whole;
  }
}

/** The status that a line gives the run; any other line is a note. */
const NOTE_STATUS: Partial<Readonly<Record<RunMessage["event"], Word>>> = {
  queued: "queued",
  finished: "succeeded",
  failed: "failed",
  cancelled: "cancelled",
  dead: "dead",
  rejected: "rejected",
  merged: "merged",
  "tool-failed": "failed",
  "tool-denied": "denied",
};

function noteTitle(message: RunMessage): string {
  switch (message.event) {
    case "started":
      return `started by ${message.data.requester}`;
    case "resumed":
      return `another runner continues (attempt ${message.data.attempt})`;
    case "retried":
      return `retried by ${message.data.by}`;
    case "limits-changed":
      return `limits changed by ${message.data.by}`;
    case "steered":
      return `message from ${message.data.by}`;
    case "skill-activated":
      return `skill ${message.data.skill} is active`;
    case "tools-unavailable":
      return message.data.servers.length === 0
        ? "all tools are available again"
        : `tools missing: ${message.data.servers.map(({ server }) => server).join(", ")}`;
    case "queued":
      return `waits in session ${message.data.sessionKey}, number ${message.data.position}`;
    case "merged":
      return `became part of run ${message.data.into}`;
    default:
      return message.event.replaceAll("-", " ");
  }
}

function noteDetail(message: RunMessage): string {
  switch (message.event) {
    case "failed":
    case "dead":
      return `${message.data.failure.code}: ${message.data.failure.message}`;
    case "cancelled":
      return `by ${message.data.by}${message.data.reason === null ? "" : `: ${message.data.reason}`}`;
    case "rejected":
      return [`${message.data.code}: ${message.data.message}`, ...message.data.problems].join("; ");
    case "steered":
      return message.data.preview;
    case "finished":
      return message.data.output;
    default:
      return "";
  }
}

/** True when the run is newer than the events received so far. */
export function isBehind({ lastMs }: StorySoFar, { updatedAt }: { readonly updatedAt: string }) {
  return lastMs < Date.parse(updatedAt);
}

export function waitText({ reason, tool, limit, question, stop }: RunWait): string {
  if (reason === "stopped")
    return stop === undefined ? "the end of a stop" : `the end of a stop of ${stopText(stop)}`;
  if (reason === "limit")
    return limit === undefined ? "a higher limit" : `a limit above ${limitText(limit)}`;
  if (reason === "question") return question ?? "an answer";
  if (reason === "child") return "a child run";
  return tool === "" ? reason : `${reason} of ${toolText(tool)}`;
}

function stopText({ scope, reason }: NonNullable<RunWait["stop"]>): string {
  return reason === "" ? scopeText(scope) : `${scopeText(scope)} (${reason})`;
}
