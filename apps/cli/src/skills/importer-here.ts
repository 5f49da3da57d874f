import type { unpackSkills } from "@switchyard/contracts/skill-importer/skill-store";
import { ThreadAnalyzer } from "@switchyard/skills/analysis/thread-analyzer";
import { judgeSkills } from "@switchyard/skills/imports/judge-skills";
import { locatedAt } from "@switchyard/skills/imports/located-at";
import { readIndicators } from "@switchyard/skills/scan/indicators";
import { readSuppressions } from "@switchyard/skills/scan/read-suppressions";
import { ArchiveError, unpackArchive } from "@switchyard/skills/source/archive";
import { packagesIn } from "@switchyard/skills/source/package";
import type { Machine } from "@switchyard/skills/skill/check-dependencies";
import { sentPackage } from "@switchyard/skills/source/sent-package";
import type { z } from "zod";
import { CliError } from "../cli-error.ts";
import type { SkillImporter } from "./send-skills.ts";

/** The same limit as the importer's: no known input needs a third of it. */
const DEADLINE_MS = 1_000;
const MAX_DIAGNOSTICS = 20;

/**
 * Runs `use` with an importer in this process: no service has to run, and nothing is stored. The operator's files for the scanner
 * are those of `yard dev`: YARD_SCAN_SUPPRESSIONS and YARD_SCAN_INDICATORS.
 */
export async function withImporterHere<T>(
  env: NodeJS.ProcessEnv,
  use: (importer: SkillImporter) => Promise<T>,
): Promise<T> {
  const settings = {
    suppressions: await readSuppressions(env["YARD_SCAN_SUPPRESSIONS"] ?? ""),
    indicators: await readIndicators(env["YARD_SCAN_INDICATORS"] ?? ""),
  };
  const analyzer = new ThreadAnalyzer({ deadlineMs: DEADLINE_MS, settings });
  try {
    return await use(importerWith({ analyzer, now, machine: { env, platform: process.platform } }));
  } finally {
    await analyzer.close();
  }
}

const now = (): Date => new Date();

function importerWith(parts: {
  readonly analyzer: ThreadAnalyzer;
  readonly now: () => Date;
  readonly machine: Machine;
}): SkillImporter {
  return {
    async uploadSkills({ skills, targets = [], withReports = false }) {
      const packages = skills.map(({ directory, files }) => sentPackage(directory, files));
      const judged = await judgeSkills(packages, { ...parts, targets, withReports });
      return { ...judged, diagnostics: [] };
    },
    async unpackSkills(sent, archive) {
      const { label, targets = [], withReports = false } = sent;
      const { files, findings } = await unpacked(sent, archive);
      const judged = await judgeSkills(packagesIn(files), { ...parts, targets, withReports });
      return { ...judged, diagnostics: locatedAt(label, findings).slice(0, MAX_DIAGNOSTICS) };
    },
  };
}

async function unpacked(
  { format, label }: z.input<typeof unpackSkills.request>,
  archive: Uint8Array,
) {
  try {
    return await unpackArchive(archive, format);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new CliError("archive_refused", `${label}: ${error.message}`, { cause: error });
  }
}
