import { parentPort, workerData } from "node:worker_threads";
import { progressIn } from "./judge-progress.ts";
import type { Job, Judgement } from "./judge.ts";

/**
 * What a judging thread does: the jobs of each message, one after the other, and one answer to all of them. It is
 * ended from outside when one takes too long. To be called when all modules are loaded: then the clock may run.
 */
export function answerJobs(judge: (job: Job) => Judgement): void {
  const progress = progressIn(workerData as SharedArrayBuffer); // the pool starts it with exactly this
  parentPort?.on("message", (jobs: readonly Job[]) => {
    const judgements = jobs.map((job) => {
      progress.begin();
      const judgement = judge(job);
      progress.end();
      return judgement;
    });
    parentPort?.postMessage(judgements, []);
  });
  parentPort?.postMessage("ready", []);
}
