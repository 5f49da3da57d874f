/**
 * `GET /events`, which has no contract: the events of everything that belongs to the caller. The name is the one for scopes;
 * the right to read single runs does not permit following all of them.
 */
export const EVENT_FEED = { name: "events.follow", role: "viewer" } as const;
