import type { SkillSummary } from "@switchyard/contracts/skills";

/** Room for the skill catalogue in the system prompt. */
const CATALOGUE_BYTES = 16 * 1_024;
const DESCRIPTION_CHARACTERS = 1_024;

export interface SkillCatalogue {
  /** Empty when there is nothing to list. */
  readonly text: string;
  /** The skills that are listed, and so may be activated. */
  readonly listed: readonly SkillSummary[];
}

/**
 * The list of skills that a model may activate, sorted by name. Names and descriptions come from
 * imported files, so they are escaped: no description can close the list and speak as the system.
 */
export function skillCatalogue(skills: readonly SkillSummary[]): SkillCatalogue {
  const candidates = skills
    .filter((skill) => skill.modelInvocable)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const listed: SkillSummary[] = [];
  const lines: string[] = [];
  let bytes = 0;
  for (const skill of candidates) {
    const line = catalogueLine(skill);
    bytes += Buffer.byteLength(line);
    if (bytes > CATALOGUE_BYTES) break;
    lines.push(line);
    listed.push(skill);
  }
  if (listed.length === 0) return { text: "", listed };
  const missing = candidates.length - listed.length;
  if (missing > 0) lines.push(`  <!-- ${missing} more skills are not listed -->`);
  return { text: `<available_skills>\n${lines.join("\n")}\n</available_skills>`, listed };
}

/** The system prompt: the agent's own, then its preloaded skills, then the catalogue. */
export function systemPrompt(parts: readonly string[]): string {
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

function catalogueLine({ name, description }: SkillSummary): string {
  const short = description.slice(0, DESCRIPTION_CHARACTERS).replaceAll(/\s+/g, " ");
  return `  <skill name="${escapeXml(name)}">${escapeXml(short)}</skill>`;
}

function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&apos;");
}
