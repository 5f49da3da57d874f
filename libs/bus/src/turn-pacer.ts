/** Pieces that begin in one turn of the event loop. */
const PER_TURN = 16;
/** Work beyond these does not wait: a caller over its limits is to be refused at once, and not to take up memory. */
const MOST_WAITING = 1_024;

/**
 * Begins work that arrives together in portions, one for each turn of the event loop, in the order of arrival. Promise jobs take turns: of
 * 64 requests out of one read, none would have its first message sent before almost all of them are done, and the services that handle
 * these messages would have nothing to do meanwhile.
 */
export class TurnPacer {
  readonly #waiting: (() => void)[] = [];
  /** The number of operations of this turn that have begun. */
  #begun = 0;
  #isTurning = false;

  /** Begins the work now, or in one of the next turns. */
  begin(work: () => void): void {
    if (this.#begun >= PER_TURN || this.#waiting.length > 0) {
      this.#waiting.push(work);
      if (this.#waiting.length > MOST_WAITING) this.flush();
      return;
    }
    this.#begun += 1;
    if (!this.#isTurning) {
      this.#isTurning = true;
      setImmediate(this.#turn);
    }
    work();
  }

  /** Begins everything that waits, such as before an end. */
  flush(): void {
    for (const work of this.#waiting.splice(0)) work();
  }

  readonly #turn = (): void => {
    const portion = this.#waiting.splice(0, PER_TURN);
    this.#begun = portion.length;
    this.#isTurning = portion.length > 0;
    if (this.#isTurning) setImmediate(this.#turn);
    for (const work of portion) work();
  };
}
