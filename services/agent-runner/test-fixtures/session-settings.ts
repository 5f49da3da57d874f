import type { SessionSettings } from "../src/sessions/open-sessions.ts";

/** Limits of sessions in tests that do not reach a limit. */
export const SESSION_SETTINGS: SessionSettings = {
  idleMs: 3_600_000,
  maxPerOwner: 100,
  maxMessages: 1_000,
  maxBytes: 1_048_576,
  maxQueued: 20,
  contextBytes: 65_536,
};
