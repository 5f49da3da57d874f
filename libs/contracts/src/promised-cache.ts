/**
 * Replies by key, each cached for as long as its sender promised that it holds, and requests under way, so that callers that need the
 * same reply at the same moment can share one. It is bounded: the replies that were cached first are dropped first.
 */
export class PromisedCache<T> {
  readonly #now: () => number;
  readonly #most: number;
  readonly #sizeOf: (value: T) => number;
  /** In the order of arrival. */
  readonly #cached = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #underWay = new Map<string, Promise<T>>();
  #size = 0;

  /** `now` is in milliseconds, of the clock that lifetimes are on. `most` limits the sum of the sizes, where every value has the size 1 by default. */
  constructor(options: {
    readonly now: () => number;
    readonly most: number;
    readonly sizeOf?: (value: T) => number;
  }) {
    const { now, most, sizeOf = () => 1 } = options;
    this.#now = now;
    this.#most = most;
    this.#sizeOf = sizeOf;
  }

  /** The sum of the sizes; some values may have expired. */
  get size(): number {
    return this.#size;
  }

  /** True for a key whose last reply could be cached, also when it has expired. */
  has(key: string): boolean {
    return this.#cached.has(key);
  }

  /** Returns the reply that holds at a time, by default now. */
  find(key: string, at = this.#now()): T | undefined {
    const found = this.#cached.get(key);
    return found !== undefined && at < found.until ? found.value : undefined;
  }

  /** Caches a reply until a time, or without one drops the reply of its key. */
  keep(key: string, value: T, until: number | null): void {
    this.#drop(key);
    if (until === null) return;
    const size = this.#sizeOf(value);
    while (this.#size + size > this.#most) {
      const [oldest] = this.#cached.keys();
      if (oldest === undefined) break;
      this.#drop(oldest);
    }
    this.#cached.set(key, { value, until });
    this.#size += size;
  }

  /** Returns the last request for the key that has no reply yet; null when there is none. */
  underWay(key: string): Promise<T> | null {
    return this.#underWay.get(key) ?? null;
  }

  /** Sends a request that others can find under way. It caches its reply itself, before it resolves. */
  ask<R extends T>(key: string, request: () => Promise<R>): Promise<R> {
    return this.#tracked(key, request());
  }

  /**
   * Returns the cached reply, or that of the request under way, or sends the request. `until` returns when the promise of a reply
   * ends; `askedAt` is from before the request, so that the reply's travel time is not counted twice. Everyone who waits for a request
   * shares its failure.
   */
  async get(
    key: string,
    request: () => Promise<T>,
    until: (value: T, askedAt: number) => number | null,
  ): Promise<T> {
    const found = this.find(key);
    if (found !== undefined) return found;
    const other = this.underWay(key);
    if (other !== null) return other;
    const askedAt = this.#now();
    const asked: Promise<T> = request().then((value) => {
      // It was deleted meanwhile otherwise.
      if (this.#underWay.get(key) === asked) this.keep(key, value, until(value, askedAt));
      return value;
    });
    return this.#tracked(key, asked);
  }

  /** Drops a reply, also one that is under way. */
  delete(key: string): void {
    this.#drop(key);
    this.#underWay.delete(key);
  }

  /** Drops the replies that were cached first, up to the first one that still holds. */
  dropExpired(): void {
    const now = this.#now();
    for (const [key, { until }] of this.#cached) {
      if (now < until) return;
      this.#drop(key);
    }
  }

  /** Drops every reply that matches, also those that are under way. */
  deleteWhere(matches: (value: T) => boolean): void {
    for (const [key, { value }] of this.#cached) if (matches(value)) this.#drop(key);
    for (const [key, asked] of this.#underWay)
      void asked.then(
        (value) => matches(value) && this.delete(key),
        () => undefined,
      );
  }

  /** Drops all replies, also those that are under way. */
  clear(): void {
    this.#cached.clear();
    this.#underWay.clear();
    this.#size = 0;
  }

  #drop(key: string): void {
    const found = this.#cached.get(key);
    if (found === undefined) return;
    this.#size -= this.#sizeOf(found.value);
    this.#cached.delete(key);
  }

  async #tracked<R extends T>(key: string, asked: Promise<R>): Promise<R> {
    this.#underWay.set(key, asked);
    try {
      return await asked;
    } finally {
      if (this.#underWay.get(key) === asked) this.#underWay.delete(key);
    }
  }
}
