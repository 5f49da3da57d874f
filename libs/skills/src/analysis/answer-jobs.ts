import { parentPort, workerData } from "node:worker_threads";
import { progressIn } from "./analysis-progress.ts";
import type { Job, Analysis } from "./analyze.ts";

/**
 * Runs an analysis thread: it handles the jobs of each message one after the other and sends one answer for all of them. A job
 * that takes too long is ended from outside. Call it when all modules are loaded, because the clock starts then.
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
