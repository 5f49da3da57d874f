/**
 * nats-server sends answers past all permissions to the subject that a request names, but refuses requests that name one below
 * this (`isReservedReply` in its client.go). A stream that takes messages from here alone has none of these answers in it.
 */
const RESERVED = "_R_.";
const AUDIT = "yard.evt.audit.";

/** The subject that a message is published to, from the one that it is stored and read under. Of the audit they differ. */
export function publishedAs(stored: string): string {
  return stored.startsWith(AUDIT) ? `${RESERVED}${stored}` : stored;
}
