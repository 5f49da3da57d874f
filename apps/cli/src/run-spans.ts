import type { StoredEvent } from "@switchyard/bus/stored-event";
import {
  modelResponded,
  runCancelled,
  runDead,
  runFailed,
  runFinished,
  runStarted,
  runWaiting,
  runWoken,
  toolCompleted,
  toolDenied,
  toolFailed,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { printableLine } from "./printable.ts";
import { count, formatDuration, formatUsd } from "./quantities.ts";
import { payloadOf, waitText } from "./run-timeline.ts";
import { tableLines } from "./table.ts";

/** A model call, a tool call or a wait of a run, with the time that it took. */
export interface RunSpan {
  readonly kind: "step" | "call" | "wait";
  readonly step: number | null;
  readonly text: string;
  /** Its outcome; `open` when the events have no end. */
  readonly outcome: "done" | "error" | "denied" | "failed" | "open";
  /** From the start of the run, in milliseconds. */
  readonly offsetMs: number;
  /** Null while it is open. */
  readonly durationMs: number | null;
  /** Set for a tool call whose provider reports its own duration. */
  readonly providerMs?: number;
  /** Set for a step whose price is known, in US dollars. */
  readonly costUsd?: number;
}

/**
 * The time of a run by span, in the order of their begin. A call lasts from the model's request to its result, so the wait for an
 * approval is part of it; steps and waits are spans of their own.
 */
export function runSpans(events: readonly StoredEvent[]): RunSpan[] {
  const spans = new Spans();
  for (const event of events) spans.take(event);
  return spans.all();
}

/** The spans as a table. */
export function spanLines(spans: readonly RunSpan[]): string[] {
  return tableLines(
    [
      { title: "AT", value: ({ offsetMs }) => `+${formatDuration(offsetMs)}`, align: "right" },
      {
        title: "TOOK",
        value: ({ durationMs }) => (durationMs === null ? "open" : formatDuration(durationMs)),
        align: "right",
      },
      { title: "WHAT", value: ({ kind, step }) => (step === null ? kind : `${kind} ${step}`) },
      { title: "", value: (span) => [span.text, ...notesOf(span)].join(", "), maxWidth: 100 },
    ],
    spans,
  );
}

function notesOf({ outcome, providerMs, costUsd }: RunSpan): string[] {
  return [
    ...(outcome === "done" || outcome === "open" ? [] : [outcome]),
    ...(providerMs === undefined ? [] : [`${formatDuration(providerMs)} of it at its provider`]),
    ...(costUsd === undefined ? [] : [formatUsd(costUsd)]),
  ];
}

type Mutable = { -readonly [K in keyof RunSpan]: RunSpan[K] };

class Spans {
  readonly #spans: Mutable[] = [];
  readonly #calls = new Map<string, Mutable>();
  #wait: Mutable | null = null;
  #startMs: number | null = null;

  take(event: StoredEvent): void {
    const started = payloadOf(event, runStarted);
    if (started !== null) this.#startMs ??= Date.parse(started.at);
    const responded = payloadOf(event, modelResponded);
    if (responded !== null) return this.#step(responded);
    const requested = payloadOf(event, toolRequested);
    if (requested !== null) return this.#call(requested);
    const waiting = payloadOf(event, runWaiting);
    if (waiting !== null) return this.#begin(waiting);
    this.#endCall(event);
    this.#endWait(event);
  }

  all(): RunSpan[] {
    return this.#spans.toSorted((one, other) => one.offsetMs - other.offsetMs);
  }

  #step(payload: NonNullable<ReturnType<typeof payloadOf<typeof modelResponded>>>): void {
    const { at, step, model, toolCalls, durationMs, costUsd } = payload;
    const offsetMs = Math.max(0, this.#offset(at) - durationMs);
    const does = toolCalls === 0 ? "answers" : `asks for ${count(toolCalls, "tool call")}`;
    const text = `${model} ${does}`;
    const price = costUsd === undefined || costUsd === null || costUsd === 0 ? {} : { costUsd };
    this.#spans.push({ kind: "step", step, text, outcome: "done", offsetMs, durationMs, ...price });
  }

  #call(payload: NonNullable<ReturnType<typeof payloadOf<typeof toolRequested>>>): void {
    const { at, step, tool, callId } = payload;
    const offsetMs = this.#offset(at);
    const text = printableLine(tool, 80);
    const span: Mutable = { kind: "call", step, text, outcome: "open", offsetMs, durationMs: null };
    this.#spans.push(span);
    this.#calls.set(callId, span);
  }

  #endCall(event: StoredEvent): void {
    const completed = payloadOf(event, toolCompleted);
    const denied = payloadOf(event, toolDenied);
    const ended = completed ?? denied ?? payloadOf(event, toolFailed);
    const span = ended === null ? undefined : this.#calls.get(ended.callId);
    if (ended === null || span === undefined) return;
    span.durationMs = Math.max(0, this.#offset(ended.at) - span.offsetMs);
    if (completed === null) span.outcome = denied === null ? "failed" : "denied";
    else span.outcome = completed.isError ? "error" : "done";
    // A tool of the runner itself has no provider, and reports 0.
    if (completed !== null && completed.durationMs > 0) span.providerMs = completed.durationMs;
  }

  #begin(payload: NonNullable<ReturnType<typeof payloadOf<typeof runWaiting>>>): void {
    const { at, waits } = payload;
    const text = printableLine(`for ${waits.map(waitText).join(", ")}`);
    const offsetMs = this.#offset(at);
    const span: Mutable = {
      kind: "wait",
      step: null,
      text,
      outcome: "open",
      offsetMs,
      durationMs: null,
    };
    this.#spans.push(span);
    this.#wait = span;
  }

  #endWait(event: StoredEvent): void {
    if (this.#wait === null) return;
    const ended = WAIT_ENDS.flatMap((contract) => payloadOf(event, contract) ?? [])[0];
    if (ended === undefined) return;
    this.#wait.durationMs = Math.max(0, this.#offset(ended.at) - this.#wait.offsetMs);
    this.#wait.outcome = "done";
    this.#wait = null;
  }

  #offset(at: string): number {
    const ms = Date.parse(at);
    this.#startMs ??= ms; // the first events may have expired
    return Math.max(0, ms - this.#startMs);
  }
}

const WAIT_ENDS = [runWoken, runFinished, runFailed, runCancelled, runDead] as const;
