/** Breaks text that comes in pieces at words, so that it fits a terminal. Words that are longer than a line are broken by the terminal. */
export class WrappedText {
  readonly #write: (text: string) => void;
  readonly #width: () => number;
  #column = 0;
  /** Blanks and a word whose end has not come yet. */
  #blanks = "";
  #word = "";

  constructor(write: (text: string) => void, width: () => number) {
    this.#write = write;
    this.#width = width;
  }

  get isAtLineStart(): boolean {
    return this.#column === 0 && this.#word === "";
  }

  add(text: string): void {
    for (const character of text) {
      if (character === "\n") {
        this.#placeWord();
        this.#blanks = "";
        this.#break();
      } else if (character === " ") {
        this.#placeWord();
        this.#blanks += " ";
      } else this.#word += character;
    }
    // A word that is shown late would look like a stop: only what would not fit has to wait for its end.
    if (this.#column + this.#blanks.length + this.#word.length < this.#width() / 2)
      this.#placeWord();
  }

  /** Ends the line, if one has begun. */
  end(): void {
    this.#placeWord();
    this.#blanks = "";
    if (this.#column > 0) this.#break();
  }

  #placeWord(): void {
    if (this.#word === "") return;
    const needed = this.#blanks.length + Array.from(this.#word).length;
    if (this.#column > 0 && this.#column + needed > this.#width() && this.#blanks !== "") {
      this.#break();
      this.#blanks = "";
    }
    this.#write(this.#blanks + this.#word);
    this.#column += this.#blanks.length + Array.from(this.#word).length;
    this.#blanks = "";
    this.#word = "";
  }

  #break(): void {
    this.#write("\n");
    this.#column = 0;
  }
}
