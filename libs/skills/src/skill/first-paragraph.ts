const MAX_CHARACTERS = 200;

/** Returns the first paragraph of a Markdown text on one line, cut to 200 characters; a heading counts only when there is no paragraph. */
export function firstParagraph(markdown: string): string {
  const paragraphs = markdown
    .split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== "");
  const prose = paragraphs
    .map((paragraph) => withoutHeadings(paragraph))
    .find((paragraph) => paragraph !== "");
  const chosen = prose ?? paragraphs[0]?.replace(/^#+[ \t]+/, "") ?? "";
  const line = chosen.replaceAll(/\s+/g, " ").trim();
  return Array.from(line).slice(0, MAX_CHARACTERS).join("").trimEnd();
}

function withoutHeadings(paragraph: string): string {
  return paragraph
    .split("\n")
    .filter((line) => !/^#{1,6}[ \t]/.test(line))
    .join("\n")
    .trim();
}
