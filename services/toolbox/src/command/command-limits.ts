/** The limits of one command; they apply to all its processes together unless stated otherwise. */
export interface CommandLimits {
  /** Processes and threads. */
  readonly processes: number;
  readonly memoryBytes: number;
  /** Processor time of each process, in seconds. */
  readonly cpuSeconds: number;
  /** The size of one file. */
  readonly fileBytes: number;
  /** The size of `/tmp`. */
  readonly tmpBytes: number;
}

const OPEN_FILES = 4_096;
/** The unit of `ulimit -f` in a POSIX shell. */
const BLOCK_BYTES = 512;
const KIB = 1_024;

/**
 * Returns the command line that sets these limits of the kernel and then executes another command. They are set inside of the
 * sandbox, where the user has no other processes: Linux counts those by user namespace since 5.14. `ulimit` is built into the
 * shell that every system has; dash and busybox write `-p` for what bash writes `-u` for. A limit that is lower already stays.
 */
export function underLimits(
  words: readonly string[],
  { limits, countProcesses }: { limits: CommandLimits; countProcesses: boolean },
): readonly string[] {
  const { processes, memoryBytes, cpuSeconds, fileBytes } = limits;
  const set = [
    "-c 0",
    `-n ${OPEN_FILES}`,
    `-t ${cpuSeconds}`,
    `-f ${Math.ceil(fileBytes / BLOCK_BYTES)}`,
    `-d ${Math.ceil(memoryBytes / KIB)}`,
  ].map((limit) => `ulimit ${limit} 2>/dev/null`);
  const count = `ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null`;
  const script = [...set, ...(countProcesses ? [count] : []), 'exec "$@"'].join("\n");
  return ["/bin/sh", "-c", script, "sh", ...words];
}
