/** The version before this one: upgrades start from it, and rollbacks return to it. Until there are tags it is a commit. */
export const LAST_VERSION = "677553d";
/** Recorded before runs had owners. */
export const BEFORE_OWNERS = "90954d6";
