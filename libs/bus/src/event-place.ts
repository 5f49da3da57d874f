/**
 * How far a reader of events is: the last event that it had. The time belongs to it, because a stream that lost its end gives the
 * numbers of what it lost to other events.
 */
export interface EventPlace {
  readonly sequence: number;
  readonly storedAtMs: number;
}

export function placeOf(event: { readonly sequence: number; readonly time: Date }): EventPlace {
  return { sequence: event.sequence, storedAtMs: event.time.getTime() };
}

/** Whether a reader that is at `place` has what is at `other`: a number that is given again comes with a later time. */
export function hasPassed(place: EventPlace, other: EventPlace): boolean {
  return other.sequence <= place.sequence && other.storedAtMs <= place.storedAtMs;
}
