import type { StoredEvent } from "@switchyard/bus/stored-event";
import {
  modelResponded,
  runCancelled,
  runFailed,
  runFinished,
  runRejected,
  toolCompleted,
  toolDenied,
  toolFailed,
  toolRequested,
  type runLive,
} from "@switchyard/contracts/agent-runner/run-events";
import type { z } from "zod";
import { printable, printableLine } from "../printable.ts";
import { formatDuration } from "../quantities.ts";
import { payloadOf, timelineLines } from "../run-timeline.ts";
import type { Style } from "../terminal.ts";
import { WrappedText } from "./wrapped-text.ts";

type LiveMessage = z.output<typeof runLive.payload>;

/** The output of a conversation. */
export interface Screen {
  readonly write: (text: string) => void;
  readonly width: () => number;
  readonly paint: (style: Style, text: string) => string;
}

const MARGIN = 2;
/** Events that other lines here already cover, or that are of no interest to a reader. */
const HIDDEN_EVENTS = new Set([
  "queued",
  "started",
  "model",
  "call",
  "result",
  "allowed",
  "finished",
  "waiting",
  "asks",
  "continues",
]);

const ENDS = [runFailed, runCancelled, runRejected];
const CALL_ENDS = [toolCompleted, toolDenied, toolFailed];

/** Shows a run to the person in the conversation: streamed text, each text once, and a card for each call. */
export class Transcript {
  readonly #screen: Screen;
  readonly #text: WrappedText;
  /** The text shown so far of the current step. */
  #shown = "";
  #step = 0;
  /** The last step whose whole text was received; later deltas of it are ignored. */
  #done = 0;
  /** Calls of the last step whose end was not shown yet. */
  #openCalls = 0;
  /** Text that came before the cards of the step before it: events are stored, which takes longer. */
  readonly #early: LiveMessage[] = [];
  costUsd = 0;
  /** True once the event is shown that states why the run ended without an answer. */
  hasEnd = false;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#text = new WrappedText(screen.write, screen.width);
  }

  live(message: LiveMessage): void {
    if (message.step > this.#done + 1 || this.#openCalls > 0) this.#early.push(message);
    else this.#write(message);
  }

  #write({ step, delta, kind }: LiveMessage): void {
    if (step <= this.#done) return;
    if (kind === "reset-step") {
      if (this.#shown !== "")
        this.line("↺ the model is called once more; the text above does not count", "yellow");
      this.#shown = "";
      return;
    }
    if (step > this.#step) {
      this.#text.end();
      this.#shown = "";
      this.#step = step;
    }
    this.#shown += delta;
    this.#text.add(printable(delta));
  }

  event(event: StoredEvent): void {
    this.#show(event);
    if (CALL_ENDS.some((kind) => payloadOf(event, kind) !== null)) this.#openCalls -= 1;
    if (this.#openCalls > 0) return;
    for (const message of this.#early.splice(0)) this.live(message);
  }

  #show(event: StoredEvent): void {
    const responded = payloadOf(event, modelResponded);
    if (responded !== null) {
      const { step, text, toolCalls } = responded;
      this.#done = Math.max(this.#done, step);
      this.#openCalls = toolCalls;
      // The text of the last step is the answer, which comes whole with the end of the run.
      if (toolCalls > 0) this.#complete(step, text);
      return;
    }
    const finished = payloadOf(event, runFinished);
    if (finished !== null) {
      this.costUsd += finished.costUsd ?? 0;
      return;
    }
    const card = cardOf(event);
    if (card !== null) this.line(card.text, card.style);
    else
      for (const { mark, label, text, style } of timelineLines(event)) {
        if (HIDDEN_EVENTS.has(label)) continue;
        this.line(`${mark} ${label} ${text}`, style);
        this.hasEnd ||= ENDS.some((end) => payloadOf(event, end) !== null);
      }
  }

  /** The answer, or what is missing of it. */
  answer(output: string): void {
    this.#complete(this.#step, output);
  }

  /** A line of its own, never in the middle of the text. */
  line(text: string, style: Style): void {
    this.#text.end();
    const width = Math.max(20, this.#screen.width() - MARGIN);
    const cut =
      Array.from(text).length > width
        ? `${Array.from(text)
            .slice(0, width - 1)
            .join("")}…`
        : text;
    this.#screen.write(`${" ".repeat(MARGIN)}${this.#screen.paint(style, cut)}\n`);
  }

  end(): void {
    this.#text.end();
  }

  #complete(step: number, text: string): void {
    const shown = step === this.#step ? this.#shown : "";
    if (text.startsWith(shown)) this.#text.add(printable(text.slice(shown.length)));
    else if (text.trim() !== shown.trim()) {
      this.#text.end();
      this.#text.add(printable(text));
    }
    this.#text.end();
    this.#shown = "";
    this.#step = 0;
  }
}

/** The card of a call: the request, then the decision and its duration. */
function cardOf(event: StoredEvent): { text: string; style: Style } | null {
  const requested = payloadOf(event, toolRequested);
  if (requested !== null)
    return { text: `→ ${requested.tool} ${printableLine(requested.argsPreview)}`, style: "blue" };
  const completed = payloadOf(event, toolCompleted);
  if (completed !== null) {
    const { decision, isError, durationMs, preview } = completed;
    const allowed = decision === null ? "" : `allowed by ${decision.rule ?? "no rule"} · `;
    const text = `${allowed}${formatDuration(durationMs)} · ${printableLine(preview)}`;
    return isError ? { text: `! ${text}`, style: "yellow" } : { text: `✓ ${text}`, style: "dim" };
  }
  const denied = payloadOf(event, toolDenied);
  if (denied !== null)
    return { text: `✗ denied · ${printableLine(denied.decision.reason)}`, style: "red" };
  const failed = payloadOf(event, toolFailed);
  return failed === null
    ? null
    : { text: `! ${failed.code}: ${printableLine(failed.message)}`, style: "yellow" };
}
