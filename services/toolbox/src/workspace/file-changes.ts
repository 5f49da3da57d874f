import { SerialQueue } from "@switchyard/contracts/serial-queue";

/**
 * Serialises changes of one file, by its path: otherwise a change would overwrite another one that was written after its read. It
 * applies to this process only.
 */
export const fileChanges = new SerialQueue();
