/** The events of one run as they arrive, which may be several times: decides which are new, and whether the run has ended. */
export class RunReader<End> {
  #last: number;
  /** Set while the latest event ends the run; a run that was retried has ends in its past. */
  end: End | null = null;

  /** `after`: the number of the last event that the reader has already. */
  constructor(after = 0) {
    this.#last = after;
  }

  /** False while every event so far was published before the run began, and has no number. */
  get hasBegun(): boolean {
    return this.#last > 0;
  }

  /** Returns false for an event that the reader has already. `endOf` returns the end of the run that the event is, or null. */
  take(name: string, payload: unknown, endOf: () => End | null): boolean {
    const seq = seqOf(payload);
    // A runner that took over repeats events whose publication it could not be sure of.
    if (seq !== null && seq < this.#last) return false;
    const end = endOf();
    // A refusal that does not end the run answers another command, and changes nothing.
    if (end !== null || name !== "rejected") this.end = end;
    if (seq === this.#last) return false;
    this.#last = seq ?? this.#last;
    return true;
  }
}

function seqOf(payload: unknown): number | null {
  const { seq } = Object(payload) as { readonly seq?: unknown };
  return typeof seq === "number" ? seq : null;
}
