import type { ScanReport } from "@switchyard/contracts/skill-importer/skill-scan";
import type { diffSkill, SkillVersion } from "@switchyard/contracts/skill-importer/skill-store";
import type { z } from "zod";
import { agentCapabilities, agentText } from "@switchyard/skills/agents/describe-agent";
import type { CatalogueStore } from "../store/catalogue-store.ts";
import type { Kind } from "@switchyard/skills/catalogue/definition";
import type { VersionStore } from "../store/version-store.ts";
import { lineDiff } from "./line-diff.ts";

/** The text is a skill's main file; for an agent it is the file that was read. */
type VersionDiff = Omit<z.output<typeof diffSkill.reply>, "from" | "to">;

interface Parts {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
}

interface Side {
  readonly text: string;
  /** The capabilities that the fields allow and the scanner found, one per line. */
  readonly capabilities: readonly string[];
  readonly findings: readonly string[];
}

/** Compares two versions for a person who reviews the newer one before its use. Names a version that no longer exists. */
export async function diffVersions(
  parts: Parts,
  { kind, name }: { kind: Kind; name: string },
  [from, to]: readonly [SkillVersion, SkillVersion],
): Promise<VersionDiff | { readonly gone: string }> {
  const [left, right] = await Promise.all(
    [from, to].map((record) => sideOf(parts, { kind, name }, record)),
  );
  if (!left || !right) return { gone: (left ? to : from).version };
  const before = new Map(from.files.map(({ path, digest }) => [path, digest]));
  const after = new Map(to.files.map(({ path, digest }) => [path, digest]));
  return {
    text: lineDiff(left.text, right.text),
    files: {
      ...changes([...before.keys()], [...after.keys()]),
      changed: [...after.keys()].filter(
        (path) => before.has(path) && before.get(path) !== after.get(path),
      ),
    },
    capabilities: changes(left.capabilities, right.capabilities),
    findings: changes(left.findings, right.findings),
  };
}

async function sideOf(
  { store, versions }: Parts,
  { kind, name }: { kind: Kind; name: string },
  { version, digest, files }: SkillVersion,
): Promise<Side | null> {
  const report = await versions.report(kind, name, version);
  const scanned = scannedCapabilities(report);
  const findings = (report?.findings ?? []).map(({ code, file: at }) => `${code} ${at}`);
  if (kind === "agent") {
    const agent = await store.read(kind, name, version);
    if (agent === null) return null;
    return {
      text: agentText(agent),
      capabilities: [...agentCapabilities(agent), ...scanned],
      findings,
    };
  }
  const stored = await store.read(kind, name, version);
  const own = files.find((file) => file.digest === digest)?.path ?? "SKILL.md";
  const bytes = await versions.file(name, version, own);
  const tools = stored?.skill.allowedTools ?? ["*"];
  return {
    text: bytes === null ? (stored?.skill.body ?? "") : Buffer.from(bytes).toString(),
    capabilities: [...tools.map((tool) => `tool ${tool}`), ...scanned],
    findings,
  };
}

/** Returns the capabilities that the scanner found declared or used, as `kind name`. */
function scannedCapabilities(report: ScanReport | null): string[] {
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

function changes(before: readonly string[], after: readonly string[]): VersionDiff["findings"] {
  const old = new Set(before);
  const now = new Set(after);
  return {
    added: [...now].filter((item) => !old.has(item)).toSorted(),
    removed: [...old].filter((item) => !now.has(item)).toSorted(),
  };
}
