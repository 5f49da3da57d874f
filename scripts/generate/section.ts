/**
 * Replaces the text between `<!-- generated: NAME -->` and `<!-- end -->` for each given name.
 * Throws when a marker is missing, so a renamed heading cannot silently stop the generation.
 */
export function replaceSection(document: string, sections: Record<string, string>): string {
  let text = document;
  for (const [name, content] of Object.entries(sections)) {
    const start = `<!-- generated: ${name} -->`;
    const from = text.indexOf(start);
    const to = text.indexOf("<!-- end -->", from);
    if (from === -1 || to === -1)
      throw new Error(`the document has no section "${start} … <!-- end -->"`);
    text = `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
  }
  return text;
}
