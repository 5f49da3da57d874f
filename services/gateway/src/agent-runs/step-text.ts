/** A change of a step's text: more of it arrives, or the text sent so far is void and the step starts anew. */
export type TextItem =
  | { readonly kind: "text"; readonly step: number; readonly text: string }
  | { readonly kind: "text-void"; readonly step: number };

/** The runner's mark at the point where live text ends before the text does; the rest is in the event. */
const LIVE_END = "\n[live output truncated]";

/**
 * The text of a run's steps as clients receive it. Live text may be lost, so the event at the end of a step completes the text
 * that was sent, or replaces it when it does not start with that text.
 */
export class StepText {
  #step = 0;
  #said = "";
  #ended = 0;
  /** Live text that arrived before the event of the previous step: events are stored first, which takes longer. */
  #early = { step: 0, text: "" };

  /** Adds live text. */
  add(step: number, delta: string): TextItem[] {
    if (step <= this.#ended) return [];
    const more = delta.endsWith(LIVE_END) ? delta.slice(0, -LIVE_END.length) : delta;
    const early = this.#early.step === step ? this.#early.text : "";
    if (step > this.#ended + 1) {
      this.#early = { step, text: early + more };
      return [];
    }
    this.#early = { step: 0, text: "" };
    const text = early + more;
    if (step !== this.#step) this.#begin(step);
    this.#said += text;
    return text === "" ? [] : [{ kind: "text", step, text }];
  }

  /** The runner repeats the step. */
  reset(step: number): TextItem[] {
    if (step <= this.#ended) return [];
    if (step === this.#early.step) this.#early = { step: 0, text: "" };
    if (step > this.#ended + 1) return [];
    const hadText = step === this.#step && this.#said !== "";
    this.#begin(step);
    return hadText ? [{ kind: "text-void", step }] : [];
  }

  /** Adds the recorded text of a step, or as much of it as the event contains. */
  end(step: number, text: string, isCut: boolean): TextItem[] {
    if (step <= this.#ended) return [];
    if (step !== this.#step) this.#begin(step);
    this.#ended = step;
    return this.#complete(text, isCut);
  }

  /** Completes the answer, which is the full text of the last step. */
  answer(text: string): TextItem[] {
    if (this.#said === "" && this.#step === 0) this.#begin(1);
    return this.#complete(text, false);
  }

  #complete(text: string, isCut: boolean): TextItem[] {
    const said = this.#said;
    const step = this.#step;
    if (text.startsWith(said)) {
      this.#said = text;
      return text === said ? [] : [{ kind: "text", step, text: text.slice(said.length) }];
    }
    if (isCut && said.startsWith(text)) return [];
    this.#said = text;
    return [
      { kind: "text-void", step },
      { kind: "text", step, text },
    ];
  }

  #begin(step: number): void {
    this.#step = step;
    this.#said = "";
  }
}
