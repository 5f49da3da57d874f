/** One step of a tutorial: a file to write, a line to type, or what the lines before it print. */
export type TutorialStep =
  | { readonly kind: "file"; readonly name: string; readonly text: string }
  | { readonly kind: "line"; readonly line: string }
  | { readonly kind: "prints"; readonly texts: readonly string[] };

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;
const FILE_BEFORE = /`my-project\/([\w./-]+)`[^`\n]*$/;

/** The steps under a heading of the second level, in their order. */
export function tutorialSteps(document: string, heading: string): TutorialStep[] {
  const from = document.indexOf(`\n## ${heading}\n`);
  const to = document.indexOf("\n## ", from + 1);
  const section = document.slice(from, to === -1 ? undefined : to);
  return [...section.matchAll(FENCE)].flatMap((match): TutorialStep[] => {
    const [, language = "", text = ""] = match;
    const lines = text.split("\n").filter((line) => line !== "");
    if (language === "sh") return lines.map((line) => ({ kind: "line", line }));
    if (language === "text") return [{ kind: "prints", texts: lines }];
    const [, name] = FILE_BEFORE.exec(section.slice(0, match.index).trimEnd()) ?? [];
    return name === undefined ? [] : [{ kind: "file", name, text }];
  });
}
