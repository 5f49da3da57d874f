/** The version before this one: upgrades start from it, and rollbacks return to it. Until there are tags it is a commit. */
export const LAST_VERSION = "677553d";
/** Recorded before runs had owners. */
export const BEFORE_OWNERS = "90954d6";
/** The latest version with another set of settings than this one: the checks on a cluster install its image and chart first. */
export const LAST_CHART = "6a3068f2";
