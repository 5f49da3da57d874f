/**
 * The position of a reader of events: the last event that it received. The time belongs to it, because a stream that lost its end assigns
 * the lost sequences to other events.
 */
export interface EventPlace {
  readonly sequence: number;
  readonly storedAtMs: number;
}

export function placeOf(event: { readonly sequence: number; readonly time: Date }): EventPlace {
  return { sequence: event.sequence, storedAtMs: event.time.getTime() };
}

/** True when a reader at `place` already has the event at `other`: a sequence that is assigned again comes with a later time. */
export function hasPassed(place: EventPlace, other: EventPlace): boolean {
  return other.sequence <= place.sequence && other.storedAtMs <= place.storedAtMs;
}
