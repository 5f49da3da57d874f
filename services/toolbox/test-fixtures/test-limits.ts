import type { CommandLimits } from "../src/command/command-limits.ts";

const MIB = 1_024 * 1_024;

/** Limits that no command reaches by accident, except those that a test sets. */
export function testLimits(some: Partial<CommandLimits> = {}): CommandLimits {
  return {
    processes: 256,
    memoryBytes: 2_048 * MIB,
    cpuSeconds: 60,
    fileBytes: 64 * MIB,
    tmpBytes: 64 * MIB,
    ...some,
  };
}
