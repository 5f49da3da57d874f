import { parentPort, workerData } from "node:worker_threads";
import { progressIn } from "./analysis-progress.ts";
import type { Job, Analysis } from "./analyze.ts";

/**
 * What an analysis thread does: the jobs of each message, one after the other, and one answer to all of them. It is
 * ended from outside when one takes too long. To be called when all modules are loaded: then the clock may run.
 */
export function answerJobs(analyze: (job: Job) => Analysis): void {
  const progress = progressIn(workerData as SharedArrayBuffer); // the thread is started with exactly this
  parentPort?.on("message", (jobs: readonly Job[]) => {
    const analyses = jobs.map((job) => {
      progress.begin();
      const analysis = analyze(job);
      progress.end();
      return analysis;
    });
    parentPort?.postMessage(analyses, []);
  });
  parentPort?.postMessage("ready", []);
}
