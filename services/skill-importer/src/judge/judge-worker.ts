import { parentPort, workerData } from "node:worker_threads";
import { doJob, type Job } from "./judge-job.ts";

// Does one job after the other. It is ended from outside when one takes too long.

/** One number, shared with the pool: how many jobs are done. */
const done = new Int32Array(workerData as SharedArrayBuffer); // the pool starts it with exactly this

parentPort?.on("message", (job: Job) => {
  const verdict = doJob(job);
  // Counted first: a pool that is late to read the answer must not take it for a job that hangs.
  Atomics.add(done, 0, 1);
  parentPort?.postMessage(verdict, []);
});

// All modules are loaded: from now on the clock may run.
parentPort?.postMessage("ready", []);
