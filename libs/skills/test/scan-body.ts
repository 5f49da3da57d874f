import type { ScanReport } from "@switchyard/contracts/skill-importer/skill-scan";
import type { Indicators } from "../src/scan/indicators.ts";
import { scanSkill } from "../src/scan/scan-skill.ts";
import { parseSkillFile } from "../src/skill/skill-file.ts";

/** Scans a skill with this body, and with these files beside it. */
export function scanBody(
  body: string,
  options: {
    readonly files?: Readonly<Record<string, string | Uint8Array>>;
    readonly indicators?: Indicators;
  } = {},
): ScanReport {
  const content = Buffer.from(
    `---\nname: my-skill\ndescription: Does one thing well.\n---\n${body}\n`,
  );
  const { skill, metadata } = parseSkillFile(content, "my-skill");
  const others = Object.entries(options.files ?? {}).map(([path, other]) => ({
    path,
    content: other,
  }));
  return scanSkill({
    files: [{ path: "SKILL.md", content }, ...others],
    skill,
    metadata,
    digest: `sha256:${"0".repeat(64)}`,
    indicators: options.indicators ?? null,
    now: new Date(0),
  });
}

/** The codes that block, each once. */
export function blockingCodes(report: ScanReport): string[] {
  return [...new Set(report.findings.filter(({ blocks }) => blocks).map(({ code }) => code))];
}
