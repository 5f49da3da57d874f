import { answerJobs } from "../src/analysis/answer-jobs.ts";
import { analyze } from "../src/analysis/analyze.ts";

// A worker as the pool starts it, that hangs, waits, dies or exhausts memory when the name of a skill or agent requests it.

answerJobs((job) => {
  const name = job.directoryName;
  if (name === "hangs") for (;;);
  // Simulates a machine that gives the thread no processor time.
  if (name === "waits") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
  if (name === "dies") process.exit(3);
  if (name === "throws") throw new Error("a bug");
  if (name === "eats")
    for (const eaten: unknown[] = []; ;) eaten.push(Array.from({ length: 1_000 }));
  return analyze(job);
});
