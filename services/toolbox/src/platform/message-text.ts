/** A message as people are to read it: what a model thought is left out, and line breaks that it wrote as `\n` are line breaks. */
export function messageText(text: string): string {
  return text
    .replaceAll(/<(think|thinking|reasoning)>[\s\S]*?<\/\1>/gi, "")
    .replaceAll(String.raw`\n`, "\n")
    .trim();
}
