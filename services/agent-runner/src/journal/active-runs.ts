import type { ActiveRun } from "./active-run.ts";

/** The runs in work in this process, so that news reaches them at once. */
export class ActiveRuns {
  readonly #runs = new Map<string, ActiveRun>();

  /** Knows a run until the function that it gives back is called. */
  add(run: ActiveRun): () => void {
    const { runId } = run.hold;
    this.#runs.set(runId, run);
    return () => {
      if (this.#runs.get(runId) === run) this.#runs.delete(runId);
    };
  }

  /** A failure costs nothing: the next entry finds the news, too, and a renewal a request to cancel. */
  async lookForNews(runId: string): Promise<void> {
    await this.#runs
      .get(runId)
      ?.lookForNews()
      .catch(() => {});
  }

  /** For a run that publishes nothing for a while. A failure costs nothing: it is looked again with the next renewal, and before the next event. */
  async verifyEvents(runId: string): Promise<void> {
    await this.#runs
      .get(runId)
      ?.verifyEvents()
      .catch(() => {});
  }
}
