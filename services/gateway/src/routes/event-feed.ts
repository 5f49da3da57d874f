/**
 * `GET /events`, which no contract stands for: what is said of everything that is the caller's. For scopes it is called so; the right to read
 * single runs is none to hear of all of them.
 */
export const EVENT_FEED = { name: "events.follow", role: "viewer" } as const;
