/** Consumers of events that one user may have at a time. */
export const MAX_EVENT_CONSUMERS = 32;

/**
 * The names of a user's consumers of events, the only ones that it may make, read and delete. NATS matches whole tokens, and a consumer's
 * name is one, so each of them is listed in the user's permissions: that makes them its own, and sets a maximum. See
 * `decisions/036-quotas-of-streams.md`.
 */
export function eventConsumersOf(user: string): string[] {
  return Array.from({ length: MAX_EVENT_CONSUMERS }, (_, index) => `${user}-${index + 1}`);
}
