import { ServiceError } from "@switchyard/contracts/errors";
import { changedMessage } from "@switchyard/contracts/if-version";
import { nearestName } from "@switchyard/contracts/nearest-name";
import type { Kind } from "@switchyard/skills/catalogue/definition";

interface Named {
  readonly summary: { readonly name: string };
}

const MAX_KNOWN = 50;

/** The declared errors of calls about versions; both kinds have the same, and only `unknown_…` bears its name. */
export function refusals(kind: Kind) {
  const yard = `yard ${kind}s`;
  const trust = (name: string) =>
    `yard skills trust ${name}${kind === "agent" ? " --agent" : ""} --reason "…"`;
  return {
    unknown: (name: string, listed: readonly Named[], digest?: string) => {
      const names = listed.map(({ summary }) => summary.name);
      const meant = nearestName(name, names);
      return refuse(
        `unknown_${kind}`,
        `there is no ${kind} ${name}${digest === undefined ? "" : ` with digest ${digest}`}${meant === null || meant === name ? "" : `; did you mean ${meant}?`}`,
        { name, known: names.slice(0, MAX_KNOWN) },
      );
    },
    unknownVersion: (name: string, version = "") =>
      refuse(
        "unknown_version",
        `${name} has no ${version === "" ? "other version" : `version ${version}`}; see: ${yard} versions ${name}`,
        { name, version },
      ),
    versionChanged: (name: string, version: string | null) =>
      refuse("version_changed", changedMessage(`${kind} ${name}`, version), { version }),
    managedByFiles: (name: string, file: string) =>
      refuse(
        "managed_by_files",
        `${name} is what ${file} on the importer's roots says; change or delete that file`,
        { name, file },
      ),
    builtIn: (name: string) =>
      refuse(
        "built_in_agent",
        `${name} comes with the importer; import an agent of that name to take its place`,
        { name },
      ),
    blocked: (name: string, version: string) =>
      refuse(
        "version_blocked",
        `the scanner blocks version ${version} of ${name}; import it again and see: ${trust(name)}`,
        { name, version },
      ),
    notWithheld: (name: string, version: string) =>
      refuse(
        "not_withheld",
        `no ${kind} ${name} with version ${version} is withheld; see: yard skills withheld`,
        { name, version },
      ),
    needsReason: (name: string, version: string) =>
      refuse(
        "reason_missing",
        `the scanner blocks version ${version} of ${name}; say why it may be used all the same: ${trust(name)}`,
        { name, version },
      ),
  } as const;
}

function refuse(code: string, message: string, data: unknown): ServiceError {
  return new ServiceError(code, message, { data });
}
