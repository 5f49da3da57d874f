import type { Service } from "@switchyard/bus/serve";
import { handleSessionList } from "./list-sessions.ts";
import { handleSessionMessages } from "./send-message.ts";
import type { SessionDesk } from "./session-desk.ts";
import { handleSessions } from "./session-handlers.ts";

/** Answers what is asked about sessions. */
export function serveSessions(service: Service, desk: SessionDesk): void {
  handleSessionList(service, desk);
  handleSessions(service, desk);
  handleSessionMessages(service, desk);
}
