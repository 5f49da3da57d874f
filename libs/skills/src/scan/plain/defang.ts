/** Ways to write a link so that no program recognises it; a reader restores it. */
const DEFANGED: readonly (readonly [pattern: RegExp, plain: string])[] = [
  [/\bh(?:xx|XX|\*\*|--|__)p(s?)(?=:|\[|\(|\\|\s?:)/gi, "http$1"],
  [/\b(https?|ftp)\s?[[({]\s?:\s?(?:\/\/)?\s?[\])}]\s?(?:\/\/)?/gi, "$1://"],
  [/\b(https?|ftp)(?:\s:\s?|:\s)\/\s?\//gi, "$1://"],
  [/\b(https?|ftp):(?:\\\\|\\\/\\\/|\/\\\/)/gi, "$1://"],
  [/(?<=[a-z0-9])\s?(?:[[({]\s?(?:\.|dot)\s?[\])}]|\\\.(?=[a-z0-9]))\s?(?=[a-z0-9])/gi, "."],
  [/(?<=\/\/[\w.-]{1,80})[。．｡](?=\w)/g, "."],
];
export const DEFANG_SIGNS =
  /h(?:xx|\*\*|--|__)p|[[({]\s?(?:\.|:|dot)\s?(?:\/\/)?[\])}]|(?:https?|ftp)(?:\s?:\s|\s:|:\\)|\\\.[a-z]|[。．｡]\w/i;

/** Restores the links of a line: `hxxp[:]//evil[.]example` is `http://evil.example`. */
export function withPlainLinks(line: string): string {
  if (!DEFANG_SIGNS.test(line)) return line;
  return DEFANGED.reduce((text, [pattern, plain]) => text.replaceAll(pattern, plain), line);
}
