/** The version before this one: what is upgraded from, and rolled back to. Until there are tags it is a commit. */
export const LAST_VERSION = "677553d";
/** From before runs had owners. */
export const BEFORE_OWNERS = "90954d6";
