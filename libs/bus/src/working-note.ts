/**
 * A service tells the callers of calls that take long that it works on them, so that a caller who hears nothing
 * knows early that the process which took its request is dead or stands still. A note goes to the inbox of the
 * answer with this token behind it: client libraries that do not know of notes do not listen there.
 */
export const WORKING = ".working";

/** A call gets its first note after one to two of these, so short calls get none. In milliseconds. */
export const NOTE_EVERY_MS = 2_000;

/** How often a caller looks, in milliseconds. Counted and not timed: a caller that stood still itself has heard nothing either. */
export const LOOK_EVERY_MS = 1_000;

/** At so many looks in a row without a note the caller gives up: after 6 to 7 s, so a note may be late or lost. */
export const SILENT_LOOKS = 7;
