/**
 * `GET /events`, which no contract stands for: what is said of everything that is the caller's. For scopes it is called so; the right to read
 * single runs does not permit following all of them.
 */
export const EVENT_FEED = { name: "events.follow", role: "viewer" } as const;
