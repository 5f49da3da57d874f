import type { Event } from "@switchyard/contracts/define";
import type { EventPlace } from "./event-place.ts";

export interface StoredEvent {
  readonly subject: string;
  /** Null for a subject that no contract declares, and for a payload that cannot be read. */
  readonly contract: Event | null;
  /** The JSON value as it was published; null when it cannot be read. */
  readonly payload: unknown;
  /**
   * Position in the stream; with `time` the place behind which a reader resumes (`placeOf` of `event-place`). 0 for an event of a run that
   * comes from its journal.
   */
  readonly sequence: number;
  readonly time: Date;
  readonly correlationId: string | null;
}

export interface ReadEventsOptions {
  /** Subjects with wildcards, such as `yard.evt.run.{owner}.{runId}.*`. Clients that may read only their own events can pass one filter. */
  readonly filters: readonly string[];
  /**
   * `after`: behind the last event that the reader received. A sequence alone, from a reader without times, may belong to another event
   * since a loss.
   */
  readonly from:
    | "beginning"
    | "now"
    | { readonly after: EventPlace }
    | { readonly sequence: number };
  /** Ends the reading without an error. */
  readonly signal?: AbortSignal;
  /** Ends after what is stored at the start of the reading. */
  readonly stopAtEnd?: boolean;
  /** Called once, when everything that is stored from then on will be read. */
  readonly onOpen?: () => void;
}
