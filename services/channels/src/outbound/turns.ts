/** Serialises work under one name, in the order of its arrival. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as the work does. */
  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine
      .catch(() => {})
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
