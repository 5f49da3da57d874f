/**
 * The words of a command line as a shell would give them to a program: quotes joined, a comment and
 * redirections left out. No expansion: the lines in documents and help texts need none.
 */
export function shellWords(line: string): string[] {
  const words: string[] = [];
  for (const [token] of line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)) {
    if (token.startsWith("#") || /^[<>|&;]/.test(token)) break;
    words.push(token.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"));
  }
  return words;
}
