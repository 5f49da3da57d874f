import { errorFinding } from "../finding.ts";
import { fileTooLarge, MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import { LEGACY_FILE, LEGACY_PROMPT, parseLegacySkill } from "./legacy-skill.ts";
import { parseSkillFile, unreadSkill, type ParsedSkill } from "./skill-file.ts";

/** Reads a skill in the format of its skill file; files beside it count where the format allows it. */
export function parseSkill(
  { mainFile, files }: { mainFile: string | null; files: ReadonlyMap<string, Uint8Array> },
  directoryName: string,
): ParsedSkill {
  const content = mainFile === null ? undefined : files.get(mainFile);
  if (content === undefined) {
    return unreadSkill(errorFinding("no_skill_file", "there is no SKILL.md; add one"));
  }
  if (content.length > MAX_FILE_BYTES) return unreadSkill(fileTooLarge(content.length));
  return mainFile === LEGACY_FILE
    ? parseLegacySkill(content, files.get(LEGACY_PROMPT) ?? null, directoryName)
    : parseSkillFile(content, directoryName);
}
