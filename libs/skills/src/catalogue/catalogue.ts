import type { Entry, Kind, TrustRecord, WithheldEntry } from "./definition.ts";

/** All entries of one kind. */
export interface KindEntries {
  readonly listed: readonly Entry[];
  /** The current version of each definition that a client sent, listed or hidden behind a file. */
  readonly imported: readonly Entry[];
  /** Names that clients sent in all, with those that wait for trust. */
  readonly size: number;
}

/** The definitions that are listed, sent by clients, waiting for trust, and trusted. */
export interface Catalogue {
  readonly revision: string;
  readonly skill: KindEntries;
  readonly agent: KindEntries;
  readonly withheld: readonly WithheldEntry[];
  readonly trust: readonly TrustRecord[];
}

/** Entries to write and names to remove. */
export interface EntryChange {
  readonly set: readonly Entry[];
  readonly remove: readonly string[];
}

/** The writes of a change; names that it does not mention stay unchanged. */
export interface CatalogueChange {
  /** Changes to the listed entries. */
  readonly listed: Readonly<Partial<Record<Kind, EntryChange>>>;
  /** Changes to the definitions that clients sent: versions that become current, and names to remove. */
  readonly imported?: Readonly<Partial<Record<Kind, EntryChange>>>;
  readonly withheld?: {
    readonly set: readonly WithheldEntry[];
    readonly remove: readonly WithheldEntry[];
  };
  readonly trust?: TrustRecord;
}
