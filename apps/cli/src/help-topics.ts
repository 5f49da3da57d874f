import { readFileSync } from "node:fs";

/** Topics of `yard help TOPIC` and `/help TOPIC`; each is a text file in help/. */
export const HELP_TOPICS = [
  "skills",
  "agents",
  "commands",
  "config",
  "memory",
  "tools",
  "workspace",
  "policy",
  "approvals",
  "subjects",
  "models",
  "exit-codes",
] as const;
export type HelpTopic = (typeof HELP_TOPICS)[number];

/** The topic that was meant; null when there is none of that name. */
export function topicNamed(name: string): HelpTopic | null {
  const wanted = name.replace(/^\//, "").toLowerCase();
  return HELP_TOPICS.find((topic) => topic === wanted || topic === `${wanted}s`) ?? null;
}

/** The text of a topic; its first line is its summary. */
export function topicText(topic: HelpTopic): string {
  return readFileSync(new URL(`help/${topic}.txt`, import.meta.url), "utf8").trimEnd();
}

/** Returns the topic's summary, in one line. */
export function topicSummary(topic: HelpTopic): string {
  return (
    topicText(topic)
      .split("\n", 1)[0]
      ?.replace(/^[^:]+: /, "") ?? ""
  );
}
