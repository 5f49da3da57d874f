import type { PatternRule } from "../pattern-rule.ts";
import type { ScannedText } from "../scanned-text.ts";
import { DROP_HOST_HINTS, hostAround, isDropHost } from "./internet-places.ts";

const CREDENTIALS =
  /(?:\.ssh\/(?:id_|\*|config)|id_rsa|id_ed25519|\.aws\/credentials|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.kube\/config|\.docker\/config\.json|\.openclaw\/(?:credentials|openclaw\.json|\.env)|\.claude\/(?:credentials|\.credentials)|wallet\.dat|keychain-db|Login Data|Local State|cookies\.sqlite|\.gnupg|\/etc\/shadow)/i;
const SENDING =
  /(?:curl|wget|invoke-webrequest|requests\.post|fetch\(|axios\.post|nc )[^\n]{0,300}(?:-d\b|--data|-F\b|--form|-T\b|--upload-file|--post-file|@-|post|body)/i;

/** What is sent to a place where anybody can pick it up, together with whose file it is. */
const toDropHost: PatternRule["judge"] = (match, text) => {
  if (!isDropHost(hostAround(text, match.index))) return null;
  const near = linesAround(text, match.index, 2);
  const isTheft = CREDENTIALS.test(near) && SENDING.test(near);
  if (!isTheft) return {};
  return {
    code: "credential_theft",
    owasp: "AST01",
    severity: "critical",
    confidence: "high",
    blocks: true,
    message: "sends a file with credentials to a place where anybody can pick it up",
    advice: "do not use the skill, and report it",
  };
};

/** The lines around an offset, and of long ones only what is near. */
function linesAround(text: ScannedText, offset: number, lines: number): string {
  const index = text.lineIndexAt(offset);
  const start = Math.max(text.startOf(Math.max(0, index - lines)), offset - 600);
  const end = Math.min(text.startOf(index + lines + 1), offset + 600);
  return text.text.slice(start, end);
}

export const DATA_THEFT: readonly PatternRule[] = [
  {
    code: "drop_host",
    owasp: "AST05",
    severity: "medium",
    confidence: "medium",
    hints: DROP_HOST_HINTS,
    pattern: /[A-Za-z0-9.-]{4,40}(?:\/[^\s)"'>]{0,80})?/iy,
    message: "names a host where anybody leaves or picks up data without a name",
    advice: "use a host whose owner is known",
    judge: toDropHost,
  },
  {
    code: "credential_file",
    owasp: "AST03",
    severity: "medium",
    confidence: "medium",
    hints: [
      ".ssh/id_",
      ".aws/credentials",
      ".git-credentials",
      ".openclaw/credentials",
      "wallet.dat",
      "/etc/shadow",
      "login data",
      "cookies.sqlite",
    ],
    pattern: /[^\n]{4,80}/iy,
    message: "names a file that holds credentials",
    advice: "give the skill a secret of its own instead of the user's",
    judge(match, text) {
      const near = linesAround(text, match.index, 0);
      return SENDING.test(near)
        ? {
            code: "credential_upload",
            owasp: "AST01",
            severity: "high",
            message: "sends a file that holds credentials",
          }
        : {};
    },
  },
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
