import type { ActiveRun } from "./active-run.ts";

/** The runs in work in this process, so that notifications reach them at once. */
export class ActiveRuns {
  readonly #runs = new Map<string, ActiveRun>();

  /** Registers a run until the returned function is called. */
  add(run: ActiveRun): () => void {
    const { runId } = run.hold;
    this.#runs.set(runId, run);
    return () => {
      if (this.#runs.get(runId) === run) this.#runs.delete(runId);
    };
  }

  /** A failure costs nothing: the next entry finds the new entries, too, and a renewal finds a request to cancel. */
  async lookForNews(runId: string): Promise<void> {
    await this.#runs
      .get(runId)
      ?.lookForNews()
      .catch(() => {});
  }

  /**
   * Checks a run that publishes nothing for a while. A failure costs nothing: the check is repeated at the next renewal, and
   * before the next event.
   */
  async verifyEvents(runId: string): Promise<void> {
    await this.#runs
      .get(runId)
      ?.verifyEvents()
      .catch(() => {});
  }
}
