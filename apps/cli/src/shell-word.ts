/** A text as one word of a shell's command line, quoted where that needs it. */
export function shellWord(text: string): string {
  return /^(?!~)[\w./:@%+=,~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
