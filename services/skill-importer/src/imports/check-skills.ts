import type {
  CheckedSkill,
  checkSkills as contract,
} from "@switchyard/contracts/skill-importer/skills";
import type { z } from "zod";
import type { Analyzer } from "@switchyard/skills/analysis/analyze";
import { readCandidate } from "@switchyard/skills/source/read-candidate";
import { scanDirectory, type Candidate } from "@switchyard/skills/source/scan-directory";
import { readDefinition } from "@switchyard/skills/imports/read-definition";

interface Page extends Omit<z.output<typeof contract.request>, "directory"> {
  readonly analyzer: Analyzer;
}

/** More diagnostics of one file add no information, and a reply has to fit into a message. */
const MAX_PER_FILE = 20;

/** Reads a page of the skill files below a directory and analyzes them. It stores nothing. */
export async function checkSkills(
  { root, directory }: { root: string; directory: string },
  page: Page,
): Promise<z.output<typeof contract.reply>> {
  const scan = await scanDirectory(root, directory);
  const candidates = scan.candidates.filter(({ kind }) => kind === "skill");
  const end = page.offset + page.limit;
  const files: CheckedSkill[] = [];
  for (const candidate of candidates.slice(page.offset, end)) {
    // The files are read one at a time, so that memory holds only one of them.
    files.push(await check(candidate, root, page));
  }
  return {
    files,
    total: candidates.length,
    diagnostics: scan.diagnostics.slice(0, MAX_PER_FILE),
    nextOffset: end < candidates.length ? end : null,
  };
}

async function check(
  candidate: Candidate,
  root: string,
  { targets, analyzer }: Page,
): Promise<CheckedSkill> {
  const pkg = await readCandidate(root, candidate, { alone: true });
  const origin = { root, scope: "project", needsTrust: false } as const;
  const reading = { analyzer, now: () => new Date(0), scans: false };
  const { file, definition, conformance, diagnostics } = await readDefinition(pkg, origin, reading);
  const skill = definition?.kind === "skill" ? definition.stored.skill : null;
  return {
    file,
    name: skill?.name ?? null,
    loads: skill !== null,
    repaired: skill?.repaired ?? false,
    needsReview: skill?.needsReview ?? false,
    conformance: conformance
      .filter(({ target }) => targets === undefined || targets.includes(target))
      .map(({ target, conforms, problems }) => ({
        target,
        conforms,
        problems: problems.slice(0, MAX_PER_FILE),
      })),
    diagnostics: diagnostics.slice(0, MAX_PER_FILE),
  };
}
