import type { TrustRecord, WithheldEntry } from "./admission.ts";
import type { AgentEntry, SkillEntry } from "./definition.ts";
import type { References } from "./superseded.ts";

/** What is listed, what clients sent, what waits for trust, and what is trusted. */
export interface Catalogue {
  readonly revision: string;
  readonly skills: readonly SkillEntry[];
  readonly agents: readonly AgentEntry[];
  /** The current version of each skill that a client sent, listed or hidden behind a file. */
  readonly imported: readonly SkillEntry[];
  readonly importedAgents: readonly AgentEntry[];
  readonly withheld: readonly WithheldEntry[];
  readonly trust: readonly TrustRecord[];
}

/** What there is of some agents. */
export interface NamedAgents {
  readonly revision: string;
  readonly listed: readonly AgentEntry[];
  readonly imported: readonly AgentEntry[];
  readonly withheld: readonly WithheldEntry[];
  readonly trust: readonly TrustRecord[];
  /** Of all that clients sent. */
  readonly size: number;
}

/** What {@link CatalogueStore.loadAgents} loaded, as a commit wants it. */
export function committedAgents({ revision, listed, imported, withheld }: NamedAgents): Committed {
  return { revision, agents: listed, importedAgents: imported, withheld };
}

/** What was loaded before a change: its revision, and all that names a version of the names it is about. */
export type Committed = { readonly revision: string } & Partial<References>;
