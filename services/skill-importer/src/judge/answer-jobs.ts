import { parentPort, workerData } from "node:worker_threads";
import { progressIn } from "./judge-progress.ts";
import type { Job, Verdict } from "./judge-job.ts";

/**
 * What a judging thread does: the jobs of each message, one after the other, and one answer to all of them. It is
 * ended from outside when one takes too long. To be called when all modules are loaded: then the clock may run.
 */
export function answerJobs(doJob: (job: Job) => Verdict): void {
  const progress = progressIn(workerData as SharedArrayBuffer); // the pool starts it with exactly this
  parentPort?.on("message", (jobs: readonly Job[]) => {
    const verdicts = jobs.map((job) => {
      progress.begin();
      const verdict = doJob(job);
      progress.end();
      return verdict;
    });
    parentPort?.postMessage(verdicts, []);
  });
  parentPort?.postMessage("ready", []);
}
