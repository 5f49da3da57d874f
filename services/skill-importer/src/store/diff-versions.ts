import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { SkillVersion } from "@switchyard/contracts/skill-store";
import { lineDiff } from "./line-diff.ts";

/** One side of a comparison. */
export interface VersionSide {
  readonly record: SkillVersion;
  /** Of the skill's own file. */
  readonly text: string;
  readonly allowedTools: readonly string[] | null;
  readonly report: ScanReport | null;
}

export interface VersionDiff {
  readonly text: string;
  readonly files: { added: string[]; removed: string[]; changed: string[] };
  readonly capabilities: { added: string[]; removed: string[] };
  readonly findings: { added: string[]; removed: string[] };
}

/** What changed between two versions: what a person wants to see before an update is trusted. */
export function diffVersions(from: VersionSide, to: VersionSide): VersionDiff {
  const before = new Map(from.record.files.map(({ path, digest }) => [path, digest]));
  const after = new Map(to.record.files.map(({ path, digest }) => [path, digest]));
  return {
    text: lineDiff(from.text, to.text),
    files: {
      ...changes([...before.keys()], [...after.keys()]),
      changed: [...after.keys()].filter(
        (path) => before.has(path) && before.get(path) !== after.get(path),
      ),
    },
    capabilities: changes(capabilitiesOf(from), capabilitiesOf(to)),
    findings: changes(findingsOf(from), findingsOf(to)),
  };
}

function capabilitiesOf({ report, allowedTools }: VersionSide): string[] {
  const restriction =
    allowedTools === null ? ["tool *"] : allowedTools.map((name) => `tool ${name}`);
  return [...restriction, ...scannedCapabilities(report)];
}

/** What the scanner saw declared or used, as `kind name`. */
export function scannedCapabilities(report: ScanReport | null): string[] {
  if (report === null) return [];
  const kinds = [
    ["env", report.capabilities.env],
    ["bin", report.capabilities.bins],
    ["host", report.capabilities.hosts],
    ["tool", report.capabilities.tools],
  ] as const;
  return kinds.flatMap(([kind, { declared, used }]) =>
    [...declared, ...used].map((name) => `${kind} ${name}`),
  );
}

export function findingsOf({ report }: Pick<VersionSide, "report">): string[] {
  return (report?.findings ?? []).map(({ code, file }) => `${code} ${file}`);
}

export function changes(
  before: readonly string[],
  after: readonly string[],
): { added: string[]; removed: string[] } {
  const old = new Set(before);
  const now = new Set(after);
  return {
    added: [...now].filter((item) => !old.has(item)).toSorted(),
    removed: [...old].filter((item) => !now.has(item)).toSorted(),
  };
}
