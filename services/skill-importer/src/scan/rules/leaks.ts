import type { PatternRule } from "../pattern-rule.ts";
import type { ScannedText } from "../scanned-text.ts";

/** Data that leaves the machine unnoticed. */
export const LEAKS: readonly PatternRule[] = [
  {
    code: "environment_upload",
    owasp: "AST01",
    severity: "high",
    confidence: "medium",
    hints: ["env | ", "printenv", "json.stringify(process.env", "dict(os.environ"],
    pattern:
      /(?:env \||printenv|json\.stringify\(process\.env|dict\(os\.environ)[^\n]{0,160}(?:curl|wget|fetch|requests|https?:\/\/)[^\n]{0,100}/iy,
    message: "sends all environment variables",
    advice: "send only what the task needs, by name",
  },
  {
    code: "image_leak",
    owasp: "AST05",
    severity: "medium",
    confidence: "low",
    hints: ["](http"],
    pattern:
      /\]\(https?:\/\/[^\s)]{4,160}[?&][\w-]{1,30}=(?:\{\{?|\$\{?|<)[A-Za-z_ ]{2,40}[^\s)]{0,60}\)/iy,
    kinds: ["markdown"],
    message: "a link whose address takes in data, which its host then learns",
    advice: "do not put data into addresses of images or links",
    judge: (match, text) => (isImage(text, match.index) ? {} : null),
  },
];

function isImage(text: ScannedText, offset: number): boolean {
  const open = text.text.lastIndexOf("[", offset);
  return open > 0 && offset - open < 200 && text.text[open - 1] === "!";
}
