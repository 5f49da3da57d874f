/** Runs work in the order of its arrival, one piece at a time under each name. */
export class SerialQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles as the work does. A failure does not prevent the work behind it. */
  run<T>(work: () => T | Promise<T>, name = ""): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(work);
    const settled = mine
      .catch(() => undefined)
      .finally(() => {
        if (this.#last.get(name) === settled) this.#last.delete(name);
      });
    this.#last.set(name, settled);
    return mine;
  }

  /** Resolves when all present work has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
