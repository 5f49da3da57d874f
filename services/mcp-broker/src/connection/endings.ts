/** Tracks what is being ended, by name, until it has ended. */
export class Endings {
  readonly #byName = new Map<string, Promise<void>>();

  /** Resolves when everything that is ending under this name now has ended. */
  of(name: string): Promise<void> {
    return this.#byName.get(name) ?? Promise.resolve();
  }

  /** Records an end; it is over when the one before it is, too. */
  add(name: string, ended: Promise<unknown>): Promise<void> {
    const both = Promise.all([this.of(name), ended]).then(() => undefined);
    this.#byName.set(name, both);
    const forget = (): void => {
      if (this.#byName.get(name) === both) this.#byName.delete(name);
    };
    both.then(forget, forget);
    return both;
  }

  async all(): Promise<void> {
    await Promise.all(this.#byName.values());
  }
}
