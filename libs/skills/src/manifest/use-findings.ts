import type { Skill } from "@switchyard/contracts/skill-importer/skills";
import { notRunWarning } from "../render/dynamic-content.ts";
import { infoFinding, warningFinding, type Finding } from "../finding.ts";
import { shadowWarning, slashCommandOf } from "./slash-command.ts";

/** Returns findings about behaviour here that the author of a skill may not expect. */
export function useFindings(
  skill: Pick<Skill, "name" | "userInvocable" | "argumentHint" | "body">,
): Finding[] {
  const notRun = notRunWarning(skill.body);
  const shadow = shadowWarning(slashCommandOf(skill));
  return [
    ...(notRun === null ? [] : [infoFinding("not_run", notRun)]),
    ...(shadow === null || !skill.userInvocable
      ? []
      : [warningFinding("shadowed_command", shadow)]),
  ];
}
