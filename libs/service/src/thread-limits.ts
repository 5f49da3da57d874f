import type { ResourceLimits } from "node:worker_threads";

/**
 * V8 ends the whole process when a thread at its limit still has more young objects than the spare room that Node
 * grants it. The default young generation of a large machine is larger than that room; this one is not.
 */
const MAX_YOUNG_MB = 16;

/**
 * Limits for a worker thread that reads untrusted content: at `maxHeapMb` MiB the thread ends, and the process continues. A single
 * allocation that is larger than the spare room, such as that of a growing Map, still ends the process: only a process of its own would be
 * safe from that. So the content that threads read is limited in size, too.
 */
export function threadLimits(maxHeapMb: number): ResourceLimits {
  return { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: MAX_YOUNG_MB };
}
