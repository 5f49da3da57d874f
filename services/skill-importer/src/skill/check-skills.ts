import type { CheckedSkill, Diagnostic, SkillTarget } from "@switchyard/contracts/skills";
import { located, readCandidate, readWithPrompt } from "../source/read-definitions.ts";
import { directoryNameOf, scanDirectory, type Candidate } from "../source/scan-directory.ts";
import type { Judges } from "../judge/judge-job.ts";
import type { ParsedSkill } from "./skill-file.ts";

export interface CheckedPage {
  readonly files: CheckedSkill[];
  readonly total: number;
  readonly diagnostics: Diagnostic[];
  readonly nextOffset: number | null;
}

/** More of them in one file say nothing new, and a reply has to fit into a message. */
const MAX_PER_FILE = 20;

/** Reads a page of the skill files below a directory and judges them. Nothing is stored. */
export async function checkSkills(
  { root, directory }: { root: string; directory: string },
  page: {
    readonly offset: number;
    readonly limit: number;
    readonly targets?: readonly SkillTarget[] | undefined;
    readonly judges: Judges;
  },
): Promise<CheckedPage> {
  const scan = await scanDirectory(root, directory);
  const candidates = scan.candidates.filter(({ kind }) => kind === "skill");
  const end = page.offset + page.limit;
  const files: CheckedSkill[] = [];
  for (const candidate of candidates.slice(page.offset, end)) {
    // One file at a time: what is in memory is one file, however many there are.
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
  { targets, judges }: { targets?: readonly SkillTarget[] | undefined; judges: Judges },
): Promise<CheckedSkill> {
  const content = await readCandidate(candidate);
  const parsed =
    content instanceof Uint8Array
      ? await parse(await readWithPrompt(candidate, content), {
          directoryName: directoryNameOf(candidate, root),
          judges,
        })
      : { skill: null, findings: [content], conformance: [] };
  const { skill, findings, conformance } = parsed;
  return {
    file: candidate.file,
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
    diagnostics: located(findings, candidate).slice(0, MAX_PER_FILE),
  };
}

async function parse(
  read: { skillFile: string; files: ReadonlyMap<string, Uint8Array> },
  { directoryName, judges }: { directoryName: string; judges: Judges },
): Promise<ParsedSkill> {
  const job = { ...read, directoryName, version: null, now: NEVER };
  return (await judges.skill(job)).parsed;
}

/** Only the scanner asks for the time. */
const NEVER = new Date(0);
