export type AnalysisProgress = ReturnType<typeof progressIn>;

const NOT_BUSY = 0n;

export function newProgress(): { memory: SharedArrayBuffer; progress: AnalysisProgress } {
  const memory = new SharedArrayBuffer(3 * BigInt64Array.BYTES_PER_ELEMENT);
  return { memory, progress: progressIn(memory) };
}

/** What a thread says of itself while it cannot answer; memory that it shares with the one which started it. */
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
      // In this order, or the next job would seem to have begun with this one.
      Atomics.store(numbers, BEGUN, NOT_BUSY);
      Atomics.add(numbers, DONE, 1n);
    },
    /** How many jobs have come to their end, answered or not. */
    done: () => Number(Atomics.load(numbers, DONE)),
    /** Processor time of the thread when the present job began, in milliseconds. */
    cpuAtBeginMs: () => Number(Atomics.load(numbers, CPU)) / 1_000,
    /** For how long it has been at the present job, by the clock; 0 between two. */
    busyMs: () => {
      const begun = Atomics.load(numbers, BEGUN);
      // All threads of a process have this clock in common.
      return begun === NOT_BUSY ? 0 : Number(process.hrtime.bigint() - begun) / 1e6;
    },
  };
}
