import { errorFinding, type Finding } from "../finding.ts";
import { fileTooLarge, MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import { LEGACY_FILE, LEGACY_PROMPT, parseLegacySkill } from "./legacy-skill.ts";
import { parseSkillFile, type ParsedSkill } from "./skill-file.ts";

/** Reads a skill in the format that its skill file is in; what lies beside it counts where the format says so. */
export function parseSkill(
  { skillFile, files }: { skillFile: string | null; files: ReadonlyMap<string, Uint8Array> },
  directoryName: string,
): ParsedSkill {
  const content = skillFile === null ? undefined : files.get(skillFile);
  if (content === undefined) {
    return unread(errorFinding("no_skill_file", "there is no SKILL.md; add one"));
  }
  if (content.length > MAX_FILE_BYTES) return unread(fileTooLarge(content.length));
  return skillFile === LEGACY_FILE
    ? parseLegacySkill(content, files.get(LEGACY_PROMPT) ?? null, directoryName)
    : parseSkillFile(content, directoryName);
}

function unread(problem: Finding): ParsedSkill {
  return { skill: null, metadata: null, findings: [problem], conformance: [] };
}
