import type { StoredEvent } from "@switchyard/bus/stored-event";
import * as events from "@switchyard/contracts/agent-runner/run-events";
import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import type { z } from "zod";

/** The events of a run that have a counterpart in the protocols. */
const relayedEvents = {
  queued: events.runQueued,
  merged: events.runMerged,
  started: events.runStarted,
  resumed: events.runResumed,
  "model-responded": events.modelResponded,
  "tool-requested": events.toolRequested,
  "tool-completed": events.toolCompleted,
  "tool-denied": events.toolDenied,
  "tool-failed": events.toolFailed,
  waiting: events.runWaiting,
  woken: events.runWoken,
  "question-requested": events.questionRequested,
  "question-answered": events.questionAnswered,
  steered: events.runSteered,
  "child-started": events.childStarted,
  "child-ended": events.childEnded,
  retried: events.runRetried,
  rejected: events.runRejected,
  finished: events.runFinished,
  failed: events.runFailed,
  cancelled: events.runCancelled,
  dead: events.runDead,
} as const;

/** An event by its name, with the payload that its contract declares. */
export type RunEvent = {
  readonly [N in keyof typeof relayedEvents]: {
    readonly kind: "event";
    readonly name: N;
    readonly facts: z.output<(typeof relayedEvents)[N]["payload"]>;
  };
}[keyof typeof relayedEvents];

/** The end of a run. */
export interface RunEnd {
  readonly kind: "end";
  readonly at: string;
  readonly status: "succeeded" | "failed" | "cancelled" | "dead" | "rejected";
  /** The whole answer of a run that succeeded, else empty. */
  readonly output: string;
  /** The reason why there is no answer; null for a run that succeeded. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** Set when the answer was begun and the model's provider ended it: its text is what was sent of it. */
  readonly cut: "length" | "content_filter" | null;
  /** Null when nothing was used, or when the event does not report it. */
  readonly usage: z.infer<typeof Usage> | null;
}

/** Returns null for events that no protocol publishes, and for payloads that do not fit their contract. */
export function readRunEvent({
  subject,
  payload,
}: Pick<StoredEvent, "subject" | "payload">): RunEvent | null {
  const name = subject.slice(subject.lastIndexOf(".") + 1);
  if (!Object.hasOwn(relayedEvents, name)) return null;
  const known = name as keyof typeof relayedEvents; // `hasOwn` has checked that the name is a key of the table.
  const parsed = relayedEvents[known].payload.safeParse(payload);
  // Name and payload match by the table; the union loses the type.
  return parsed.success ? ({ kind: "event", name: known, facts: parsed.data } as RunEvent) : null;
}

/**
 * Returns the end of the run that an event reports; null while the run continues. `hasBegun` distinguishes refusals of later
 * commands from that of the start.
 */
export function endOf(event: RunEvent, hasBegun: boolean): RunEnd | null {
  const { at } = event.facts;
  const none = { kind: "end", at, output: "", failure: null, usage: null, cut: null } as const;
  switch (event.name) {
    case "finished":
      return {
        ...none,
        status: "succeeded",
        output: event.facts.output,
        usage: event.facts.usage,
      };
    case "failed":
    case "dead": {
      const { failure, usage = null } = event.facts;
      return { ...none, status: event.name, failure, usage, cut: cutOf(failure) };
    }
    case "cancelled": {
      const { by, reason, usage = null } = event.facts;
      const message = `the run was cancelled by ${by}${reason === null ? "" : `: ${reason}`}`;
      return { ...none, status: "cancelled", failure: { code: "cancelled", message }, usage };
    }
    case "rejected": {
      const { subject, code, message, problems } = event.facts;
      if (hasBegun || !/\.run\.(?:start|fork)\./.test(subject)) return null;
      const detail = problems.length === 0 ? message : `${message}: ${problems.join("; ")}`;
      return { ...none, status: "rejected", failure: { code, message: detail } };
    }
    case "merged":
      return {
        ...none,
        status: "rejected",
        failure: { code: "merged", message: `the message became part of run ${event.facts.into}` },
      };
    default:
      return null;
  }
}

/** Returns how an answer was ended that a model had begun; null for all other failures. */
export function cutOf(failure: { readonly code: string } | null): RunEnd["cut"] {
  if (failure?.code === "output_limit") return "length";
  return failure?.code === "content_filter" ? "content_filter" : null;
}
