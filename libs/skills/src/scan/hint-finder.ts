/** The table is keyed by four characters. */
const MIN_LENGTH = 4;
const TABLE_SIZE = 1 << 16;

/**
 * Finds many short ASCII texts in one pass, ignoring case. A rule's pattern is tried only at its hints: with a regular expression
 * for each rule, a hundred rules would read a file a hundred times.
 */
export class HintFinder<T> {
  readonly #isCandidate = new Uint8Array(TABLE_SIZE);
  readonly #byHash = new Map<number, { hint: string; value: T }[]>();

  constructor(hints: Iterable<readonly [hint: string, value: T]>) {
    for (const [hint, value] of hints) {
      if (hint.length < MIN_LENGTH || /[^\u0020-\u007E]|[A-Z]/.test(hint)) {
        throw new Error(
          `the hint ${JSON.stringify(hint)} must be 4 or more lower-case ASCII characters`,
        );
      }
      const hash = hashOf(hint);
      this.#isCandidate[hash] = 1;
      this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), { hint, value }]);
    }
  }

  /** Calls back for each hint at each position, in the order of the text. */
  each(text: string, found: (value: T, offset: number) => void): void {
    const isCandidate = this.#isCandidate;
    const end = text.length;
    let hash = 0;
    for (let index = 0; index < end; index += 1) {
      let code = text.charCodeAt(index);
      if (code >= 65 && code <= 90) code += 32;
      hash = ((hash << 4) ^ code) & (TABLE_SIZE - 1);
      if (isCandidate[hash] === 1 && index >= MIN_LENGTH - 1) {
        this.#compare(text, { hash, start: index - MIN_LENGTH + 1 }, found);
      }
    }
  }

  #compare(
    text: string,
    { hash, start }: { hash: number; start: number },
    found: (value: T, offset: number) => void,
  ): void {
    for (const { hint, value } of this.#byHash.get(hash) ?? []) {
      if (text.slice(start, start + hint.length).toLowerCase() === hint) found(value, start);
    }
  }
}

/** Hashes four characters: each shift moves an older one out of the sixteen bits. */
function hashOf(hint: string): number {
  let hash = 0;
  for (let index = 0; index < MIN_LENGTH; index += 1) {
    hash = ((hash << 4) ^ hint.charCodeAt(index)) & (TABLE_SIZE - 1);
  }
  return hash;
}
