/**
 * A service notifies callers of long calls that the call is in progress, so that a caller without such notes detects early that the process
 * which took its request is dead or frozen. A note goes to the reply inbox with this token appended: client libraries without support for
 * notes do not subscribe there.
 */
export const WORKING = ".working";

/** A call gets its first note after one to two of these, so short calls get none. In milliseconds. */
export const NOTE_EVERY_MS = 2_000;

/**
 * The interval at which a caller checks, in milliseconds. Checks are counted and not timed: a caller that was frozen itself has
 * received nothing either.
 */
export const LOOK_EVERY_MS = 1_000;

/** After so many checks in a row without a note the caller gives up: after 6 to 7 s, so a note may be late or lost. */
export const SILENT_LOOKS = 7;
