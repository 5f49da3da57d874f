import type { runLive } from "@switchyard/contracts/run-events";
import type { z } from "zod";

type LiveMessage = z.output<typeof runLive.payload>;

/** The text of a run's answers for an editor: as it is written, and each text once. What was shown cannot be taken back. */
export class TurnText {
  readonly #say: (text: string) => void;
  #step = 0;
  #shown = "";
  /** The last step whose whole text is known: what still comes of it is late. */
  #done = 0;
  /** The last step whose answer was received in an event. */
  #answered = 0;
  /** Text that came before the event of the step before it: events are stored, which takes longer. */
  readonly #early: LiveMessage[] = [];

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  live(message: LiveMessage): void {
    const { step, delta, kind } = message;
    if (step <= this.#done) return;
    if (step > this.#answered + 1) return void this.#early.push(message);
    if (step > this.#step) {
      this.#step = step;
      this.#shown = "";
    }
    if (kind !== "reset-step") return this.#add(delta);
    if (this.#shown !== "")
      this.#say("\n\n(The model is asked again; the text above does not count.)\n\n");
    this.#shown = "";
  }

  /** The step has ended with this text: says what is missing of it. */
  complete(step: number, text: string): void {
    if (step <= this.#done) return;
    const shown = step === this.#step ? this.#shown : "";
    this.#done = step;
    if (text.startsWith(shown)) this.#say(text.slice(shown.length));
    else if (text.trim() !== shown.trim()) this.#say(`\n\n${text}`);
    this.#say("\n\n");
    this.answered(step);
  }

  /** Called for the event with the answer of a step: the text of the next step may follow. */
  answered(step: number): void {
    this.#answered = Math.max(this.#answered, step);
    for (const message of this.#early.splice(0)) this.live(message);
  }

  #add(text: string): void {
    this.#shown += text;
    this.#say(text);
  }
}
