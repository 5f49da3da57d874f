/** Where the replies to users without credentials arrive, and to a client library that was told nothing. */
const SHARED = "_INBOX.";
const OWNED = "_INBOX_";

/** True when an answer that is sent there is stored nowhere, and serves as nothing but an answer. */
export function isInbox(reply: string): boolean {
  return reply.startsWith(SHARED) || reply.startsWith(OWNED);
}

/**
 * True when an answer that is sent there reaches nobody but the caller. The subject of the answer is named by
 * whoever calls, and may be a stream's, or the inbox of somebody who waits for another answer; the service
 * that answers may often publish there.
 */
export function isInboxOf(caller: string | undefined, reply: string): boolean {
  return (
    reply.startsWith(SHARED) || (caller !== undefined && reply.startsWith(`${OWNED}${caller}.`))
  );
}
