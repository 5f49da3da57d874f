/** The reply inbox of users without credentials, and of a client library with default settings. */
const SHARED = "_INBOX.";
const OWNED = "_INBOX_";

/** True for a reply subject that no stream stores, and that is used for answers only. */
export function isInbox(reply: string): boolean {
  return reply.startsWith(SHARED) || reply.startsWith(OWNED);
}

/**
 * True for a reply subject that only the caller receives. The caller chooses the reply subject of its request, and it may be a stream's, or
 * the inbox of another client that waits for an answer; the service that answers may often publish there.
 */
export function isInboxOf(caller: string | undefined, reply: string): boolean {
  return (
    reply.startsWith(SHARED) || (caller !== undefined && reply.startsWith(`${OWNED}${caller}.`))
  );
}
