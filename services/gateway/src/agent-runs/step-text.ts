/** What happens to a step's text: more of it comes, or what was sent of it is void and it begins anew. */
export type TextItem =
  | { readonly kind: "text"; readonly step: number; readonly text: string }
  | { readonly kind: "text-void"; readonly step: number };

/** What the runner writes where live text ends before the text does; the rest is in the event. */
const LIVE_END = "\n[the rest is not told live]";

/**
 * The text of a run's steps as it is told. Live text may be lost, so that the event at the end of a step
 * completes what was sent of it, or replaces it where it does not go on from there.
 */
export class StepText {
  #step = 0;
  #said = "";
  #ended = 0;
  /** Live text that came before the event of the step before it: events are stored, which takes longer. */
  #early = { step: 0, text: "" };

  /** Live text. */
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

  /** The step is made again. */
  reset(step: number): TextItem[] {
    if (step <= this.#ended) return [];
    if (step === this.#early.step) this.#early = { step: 0, text: "" };
    if (step > this.#ended + 1) return [];
    const hadText = step === this.#step && this.#said !== "";
    this.#begin(step);
    return hadText ? [{ kind: "text-void", step }] : [];
  }

  /** The recorded text of a step, or as much of it as the event holds. */
  end(step: number, text: string, isCut: boolean): TextItem[] {
    if (step <= this.#ended) return [];
    if (step !== this.#step) this.#begin(step);
    this.#ended = step;
    return this.#complete(text, isCut);
  }

  /** The answer: it is the text of the last step, whole. */
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
