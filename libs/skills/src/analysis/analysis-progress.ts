export type AnalysisProgress = ReturnType<typeof progressIn>;

const NOT_BUSY = 0n;

export function newProgress(): { memory: SharedArrayBuffer; progress: AnalysisProgress } {
  const memory = new SharedArrayBuffer(3 * BigInt64Array.BYTES_PER_ELEMENT);
  return { memory, progress: progressIn(memory) };
}

/** The progress of a thread that is too busy to answer, in memory shared with the thread that started it. */
export function progressIn(memory: SharedArrayBuffer) {
  const [DONE, BEGUN, CPU] = [0, 1, 2];
  const numbers = new BigInt64Array(memory);
  return {
    begin: () => {
      const { user, system } = process.threadCpuUsage();
      Atomics.store(numbers, CPU, BigInt(user + system));
      Atomics.store(numbers, BEGUN, process.hrtime.bigint());
    },
    end: () => {
      // The order matters: otherwise the next job would seem to have begun with this one.
      Atomics.store(numbers, BEGUN, NOT_BUSY);
      Atomics.add(numbers, DONE, 1n);
    },
    /** Returns how many jobs have ended, answered or not. */
    done: () => Number(Atomics.load(numbers, DONE)),
    /** Processor time of the thread when the present job began, in milliseconds. */
    cpuAtBeginMs: () => Number(Atomics.load(numbers, CPU)) / 1_000,
    /** Returns how long the present job has run, in milliseconds of wall-clock time; 0 between jobs. */
    busyMs: () => {
      const begun = Atomics.load(numbers, BEGUN);
      // All threads of a process have this clock in common.
      return begun === NOT_BUSY ? 0 : Number(process.hrtime.bigint() - begun) / 1e6;
    },
  };
}
