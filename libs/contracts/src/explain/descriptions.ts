import { commonTexts } from "./texts/common-texts.ts";
import { mcpTexts } from "./texts/mcp-texts.ts";
import { messageTexts } from "./texts/message-texts.ts";
import { policyTexts } from "./texts/policy-texts.ts";
import { runTexts } from "./texts/run-texts.ts";
import { skillTexts } from "./texts/skill-texts.ts";

/** The files of descriptions; a key is in one of them only. */
export const descriptionFiles: readonly Readonly<Record<string, string>>[] = [
  commonTexts,
  mcpTexts,
  messageTexts,
  policyTexts,
  runTexts,
  skillTexts,
];

/** The descriptions of properties by name, or by place where a name has several meanings; see `find-text.ts` for the order. */
export const descriptions: Readonly<Record<string, string>> = Object.assign(
  {},
  ...descriptionFiles,
);
