import type { runLive } from "@switchyard/contracts/agent-runner/run-events";
import type { z } from "zod";

type LiveMessage = z.output<typeof runLive.payload>;

/** The text of a run's answers for an editor: streamed, and each text once. Text that was shown cannot be retracted. */
export class TurnText {
  readonly #say: (text: string) => void;
  #step = 0;
  #shown = "";
  /** White space behind the last chunk. It is sent with the next one: some editors show a chunk of white space as an empty message. */
  #gap = "";
  #isEmpty = true;
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
      this.paragraph("(The model is called again; the text above does not count.)");
    this.#shown = "";
  }

  /** The step has ended with this text: emits the part that was not shown yet. */
  complete(step: number, text: string): void {
    if (step <= this.#done) return;
    const shown = step === this.#step ? this.#shown : "";
    this.#done = step;
    if (text.startsWith(shown)) this.#send(text.slice(shown.length));
    else if (text.trim() !== shown.trim()) this.paragraph(text);
    this.#endParagraph();
    this.answered(step);
  }

  /** Called for the event with the answer of a step: the text of the next step may follow. */
  answered(step: number): void {
    this.#answered = Math.max(this.#answered, step);
    for (const message of this.#early.splice(0)) this.live(message);
  }

  /** Text that is no part of an answer, such as a question to the person. */
  paragraph(text: string): void {
    this.#endParagraph();
    this.#send(text);
    this.#endParagraph();
  }

  #add(text: string): void {
    this.#shown += text;
    this.#send(text);
  }

  #send(text: string): void {
    const whole = this.#gap + text;
    const isBlank = text.trim() === "";
    this.#gap = isBlank ? whole : "";
    if (isBlank) return;
    this.#isEmpty = false;
    this.#say(whole);
  }

  #endParagraph(): void {
    if (!this.#isEmpty) this.#gap = "\n\n";
  }
}
