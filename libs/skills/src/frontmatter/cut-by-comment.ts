import { warningFinding, type Finding } from "../finding.ts";

const FIELD = /^(?:name|description|when[-_]to[-_]use|argument-hint):[ \t]/;
/** A `# ` with a space behind it is how people write comments. */
const CUT = /[ \t]#(?=\S)/;

/**
 * Reports a `#` in the middle of an unquoted text that made the rest of the line a comment: the file is valid, but its author may
 * not notice that a part is lost.
 */
export function cutByComments(yaml: string, linesBefore: number): Finding[] {
  // Nearly no file has one, and lines cost something.
  if (!CUT.test(yaml)) return [];
  return yaml.split("\n").flatMap((text, index) => {
    const [start] = FIELD.exec(text) ?? [];
    if (start === undefined) return [];
    const value = text.slice(start.length).trim();
    const at = CUT.exec(value)?.index;
    // Quotes, blocks and lists have rules of their own.
    if (at === undefined || /^["'|>[{]/.test(value)) return [];
    const line = linesBefore + index + 1;
    const key = start.trim().slice(0, -1);
    const message = `${key}: what follows " #" is a comment to YAML and no part of the text; put the text in quotes`;
    const column = text.indexOf(value) + at + 2;
    const patch = { line, before: text, after: `${key}: ${JSON.stringify(value)}` };
    return [{ ...warningFinding("cut_by_comment", message, { line, column }), patch }];
  });
}
