import type { Entry, Kind, TrustRecord, WithheldEntry } from "./definition.ts";

/** What there is of one kind. */
export interface KindEntries {
  readonly listed: readonly Entry[];
  /** The current version of each definition that a client sent, listed or hidden behind a file. */
  readonly imported: readonly Entry[];
  /** Names that clients sent in all, with those that wait for trust. */
  readonly size: number;
}

/** What is listed, what clients sent, what waits for trust, and what is trusted. */
export interface Catalogue {
  readonly revision: string;
  readonly skill: KindEntries;
  readonly agent: KindEntries;
  readonly withheld: readonly WithheldEntry[];
  readonly trust: readonly TrustRecord[];
}

/** Entries to write and names to take away. */
export interface EntryChange {
  readonly set: readonly Entry[];
  readonly remove: readonly string[];
}

/** What a change writes; what it does not name stays. */
export interface CatalogueChange {
  /** What is listed. */
  readonly listed: Readonly<Partial<Record<Kind, EntryChange>>>;
  /** Of what clients sent: versions that become current, and names that go. */
  readonly imported?: Readonly<Partial<Record<Kind, EntryChange>>>;
  readonly withheld?: {
    readonly set: readonly WithheldEntry[];
    readonly remove: readonly WithheldEntry[];
  };
  readonly trust?: TrustRecord;
}
