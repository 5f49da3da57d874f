import type {
  Provenance,
  WithheldReason,
} from "@switchyard/contracts/skill-importer/definition-store";
import { printableLine } from "../printable.ts";
import { timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";

/** The common part of a version of a skill and one of an agent. */
interface Version {
  readonly provenance: Provenance;
  readonly verdict: { readonly verdict: string } | null;
  readonly supersededAt: string | null;
}

/** The table of a definition's versions. `idOf` returns the id by which a version is requested, shown under that title. */
export function versionLines<I extends object, V extends Version & I>(
  { versions, current, withheld }: Versions<I, V>,
  about: {
    readonly id: string;
    readonly idOf: (version: I) => string;
    /** Shown when it is given. */
    readonly filesOf?: (version: V) => number;
  } & Times,
): string[] {
  const { id, idOf, filesOf } = about;
  const withheldId = withheld === null ? null : idOf(withheld);
  const stateOf = (version: V): string => {
    if (idOf(version) === current) return "current";
    if (withheld !== null && idOf(version) === withheldId) return `withheld: ${withheld.reason}`;
    return version.supersededAt === null ? "stored" : "superseded";
  };
  const files =
    filesOf === undefined
      ? []
      : [{ title: "FILES", value: (version: V) => String(filesOf(version)) }];
  return tableLines<V>(
    [
      { title: id, value: idOf },
      { title: "STATE", value: stateOf },
      { title: "VERDICT", value: ({ verdict }) => verdict?.verdict ?? "not scanned" },
      { title: "IMPORTED", value: ({ provenance }) => timeText(provenance.at, about) },
      { title: "BY", value: ({ provenance }) => provenance.by },
      ...files,
      { title: "FROM", value: ({ provenance }) => sourceText(provenance), maxWidth: 60 },
    ],
    versions,
  );
}

/** The versions of a definition, as the importer lists them. */
interface Versions<I, V> {
  readonly versions: readonly V[];
  readonly current: string | null;
  readonly withheld: (I & { readonly reason: WithheldReason }) | null;
}

/** The place that a version came from. */
export function sourceText({ git, label }: Provenance): string {
  return printableLine(git?.url ? `${git.url}@${git.commit ?? "?"}` : label);
}
