/** The version before this one: upgrades start from it, and rollbacks return to it. Until there are tags it is a commit. */
export const LAST_VERSION = "6a3068f2";
