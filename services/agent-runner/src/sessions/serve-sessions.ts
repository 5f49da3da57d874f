import type { Service } from "@switchyard/bus/serve";
import { handleSessionList } from "./list-sessions.ts";
import { handleSessionMessages } from "./send-message.ts";
import type { SessionDesk } from "./session-desk.ts";
import { handleSessions } from "./session-handlers.ts";
import { startSessionSweeper } from "./session-sweeper.ts";

/** Answers what is asked about sessions, and looks after those that nobody asks about. */
export function serveSessions(
  service: Service,
  desk: SessionDesk,
  sweeping: { readonly everyMs: number; readonly onFault: (fault: { error: unknown }) => void },
): { stop(): Promise<void> } {
  handleSessionList(service, desk);
  handleSessions(service, desk);
  handleSessionMessages(service, desk);
  return startSessionSweeper(desk, sweeping);
}
