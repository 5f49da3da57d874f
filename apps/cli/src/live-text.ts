import type { StoredEvent } from "@switchyard/bus/stored-event";
import {
  modelResponded,
  runResumed,
  runStarted,
  toolCompleted,
  toolDenied,
  toolFailed,
  type runLive,
} from "@switchyard/contracts/agent-runner/run-events";
import type { z } from "zod";
import { payloadOf, type TimelineLine } from "./run-timeline.ts";
import { printableLine } from "./printable.ts";

type LiveMessage = z.output<typeof runLive.payload>;

const CALL_ENDS = [toolCompleted, toolDenied, toolFailed];

/** Text without a line end is shown from this many characters on, up to its last space. */
const LINE = 100;
/** The time, mark and label before each line, and the least width beside them. */
const MARGIN = 22;
const NARROWEST = 24;

/** In a terminal a line of text ends where the screen does. */
function lineLength(): number {
  const { isTTY, columns } = process.stderr;
  return isTTY && columns > 0 ? Math.min(LINE, Math.max(NARROWEST, columns - MARGIN)) : LINE;
}

/**
 * The text of a run as its model writes it, in whole lines. Text is shown before it is final: when its step is begun anew, a line
 * marks it as void.
 */
export class LiveText {
  #step = 0;
  #rest = "";
  #isShown = false;
  /** The last step whose whole text was received; later deltas of it are ignored. */
  #done = 0;
  /** Calls of the last step whose end was not printed yet. */
  #openCalls = 0;
  /** Text that came before the events of the step before it: events are stored, which takes longer. */
  #early: LiveMessage[] = [];
  readonly #shown = new Set<number>();

  /** True when the text of a step was shown as it was written. */
  hasShown(step: number): boolean {
    return this.#shown.has(step);
  }

  take(message: LiveMessage): TimelineLine[] {
    const { step, delta, kind } = message;
    if (step <= this.#done) return [];
    if (this.#isEarly(step)) {
      this.#early.push(message);
      return [];
    }
    if (kind === "reset-step") return step === this.#step ? this.#void() : [];
    const before = step < this.#step ? this.#void() : [];
    this.#step = step;
    if (delta.trim() !== "") this.#shown.add(step);
    this.#rest += delta;
    return [...before, ...this.#wholeLines()];
  }

  /** Lines that an event of the run adds about the text before it; called before the event is printed. */
  before(event: StoredEvent): TimelineLine[] {
    const copied = payloadOf(event, runStarted)?.forkedFrom;
    // Steps that were copied from another run have no events.
    if (copied !== undefined) this.#done = copied.fromStep - 1;
    const responded = payloadOf(event, modelResponded);
    if (responded !== null) {
      this.#openCalls = responded.toolCalls;
      return this.#end(responded.step);
    }
    if (payloadOf(event, runResumed) === null) return [];
    // The runner that wrote it did not finish the step, so another one repeats the model request.
    this.#early = [];
    return this.#void();
  }

  /**
   * The text that was deferred until an event; called when the event is printed, so that a denial is not printed within the text.
   */
  after(event: StoredEvent): TimelineLine[] {
    if (CALL_ENDS.some((kind) => payloadOf(event, kind) !== null) && this.#openCalls > 0)
      this.#openCalls -= 1;
    return this.#early.splice(0).flatMap((message) => this.take(message));
  }

  /** A step may have no text at all, so only the event of the step before it shows that its own text is next. */
  #isEarly(step: number): boolean {
    if (step <= this.#step) return false;
    return this.#step !== 0 || this.#openCalls > 0 || step !== this.#done + 1;
  }

  #end(step: number): TimelineLine[] {
    this.#done = Math.max(this.#done, step);
    if (step < this.#step) return [];
    return step === this.#step ? this.#flush() : this.#void();
  }

  /** The end of a step's text, which is whole now: a step begins only when the one before has ended. */
  #flush(): TimelineLine[] {
    const last = this.#rest;
    this.#forget();
    return textLines([last]);
  }

  #void(): TimelineLine[] {
    const step = this.#step;
    const isShown = this.#isShown;
    this.#forget();
    if (!isShown) return [];
    const text = `the model is called once more: the text of step ${step} so far does not count`;
    return [{ mark: "↺", label: "void", text, style: "yellow" }];
  }

  #forget(): void {
    this.#step = 0;
    this.#rest = "";
    this.#isShown = false;
  }

  #wholeLines(): TimelineLine[] {
    const lines = this.#rest.split("\n");
    let rest = lines.pop() ?? "";
    const length = lineLength();
    while (rest.length > length) {
      const space = rest.lastIndexOf(" ", length);
      const end = space > 0 ? space + 1 : length;
      lines.push(rest.slice(0, end));
      rest = rest.slice(end);
    }
    this.#rest = rest;
    const shown = textLines(lines);
    this.#isShown ||= shown.length > 0;
    return shown;
  }
}

function textLines(lines: readonly string[]): TimelineLine[] {
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => ({ mark: "┆", label: "", text: printableLine(line.trimEnd()), style: "dim" }));
}
