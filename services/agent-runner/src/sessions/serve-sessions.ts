import type { Service } from "@switchyard/bus/serve";
import { handleClaims } from "./claim-session.ts";
import { handleDeliveries } from "./deliver-message.ts";
import { handleSessionList } from "./list-sessions.ts";
import { handleSessionMessages } from "./send-message.ts";
import { handleNotes } from "./note-message.ts";
import type { SessionParts } from "./session-parts.ts";
import { handleSessions } from "./session-handlers.ts";

/** Handles all requests about sessions. */
export function serveSessions(service: Service, parts: SessionParts): void {
  handleSessionList(service, parts);
  handleSessions(service, parts);
  handleSessionMessages(service, parts);
  handleClaims(service, parts);
  handleDeliveries(service, parts);
  handleNotes(service, parts);
}
