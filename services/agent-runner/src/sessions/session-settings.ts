import type { RunnerConfig } from "../config.ts";

/** What sessions may take. */
export interface SessionSettings {
  readonly idleMs: number;
  readonly maxPerOwner: number;
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly maxQueued: number;
  readonly contextBytes: number;
}

export function sessionSettings(config: RunnerConfig): SessionSettings {
  return {
    idleMs: config.YARD_SESSION_IDLE_MS,
    maxPerOwner: config.YARD_SESSION_MAX_PER_CALLER,
    maxMessages: config.YARD_SESSION_MAX_MESSAGES,
    maxBytes: config.YARD_SESSION_MAX_BYTES,
    maxQueued: config.YARD_SESSION_MAX_QUEUED,
    contextBytes: config.YARD_SESSION_CONTEXT_BYTES,
  };
}
