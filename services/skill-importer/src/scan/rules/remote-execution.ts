import type { PatternRule } from "../pattern-rule.ts";
import { firstHost, isDropHost, isPublicAddress } from "./internet-places.ts";

/** Installers that nearly everybody knows by this very command. */
const KNOWN_INSTALLERS =
  /^(?:sh\.rustup\.rs|get\.docker\.com|bun\.sh|astral\.sh|deno\.land|get\.pnpm\.io|get\.helm\.sh|install\.python-poetry\.org|nodejs\.org|deb\.nodesource\.com|rpm\.nodesource\.com|fnm\.vercel\.app|starship\.rs|get\.k3s\.io|tailscale\.com|fly\.io|cli\.github\.com|ollama\.com|ollama\.ai|claude\.ai|cursor\.com|get\.sdkman\.io|mise\.run|sh\.brew\.sh|foundry\.paradigm\.xyz|release\.anza\.xyz|openclaw\.ai|raw\.githubusercontent\.com)$/;

const pipedToShell: PatternRule["judge"] = (match) => {
  const host = firstHost(match[0]);
  if (host !== null && (isPublicAddress(host) || isDropHost(host))) {
    return {
      code: "remote_execution_from_drop",
      severity: "critical",
      confidence: "high",
      blocks: true,
      message: "runs a script from a bare address or a paste site that can change at any moment",
    };
  }
  if (host !== null && KNOWN_INSTALLERS.test(host)) return { severity: "low" };
  return {};
};

const encodedPayload: PatternRule["judge"] = (match) => {
  const decoded = decodedText(match[1] ?? match[2] ?? "");
  if (decoded === null) return {};
  const isDownloader =
    /(?:curl|wget|https?:\/\/|\/dev\/tcp|invoke-webrequest|\biwr\b|bash -c)/i.test(decoded);
  return isDownloader
    ? {
        code: "encoded_downloader",
        severity: "critical",
        confidence: "high",
        blocks: true,
        message: "decodes a hidden command that downloads something, and runs it",
      }
    : {};
};

function decodedText(encoded: string): string | null {
  if (encoded.length < 16) return null;
  const bytes = Buffer.from(encoded, "base64");
  // PowerShell's are UTF-16.
  return bytes.includes(0) ? bytes.toString("utf16le") : bytes.toString("utf8");
}

const REMOTE = {
  owasp: "AST02",
  severity: "medium",
  confidence: "medium",
  advice: "download it, read it, pin its digest, and only then run it",
} as const;

const HIDDEN = {
  owasp: "AST01",
  severity: "high",
  confidence: "medium",
  advice: "decode it and read what would run; there is no honest reason to hide a command",
} as const;

export const REMOTE_EXECUTION: readonly PatternRule[] = [
  {
    ...REMOTE,
    code: "remote_execution",
    hints: ["curl ", "wget "],
    needs: "|",
    pattern:
      /(?:curl|wget) [^\n|;]{4,300}\|[ \t]{0,4}(?:sudo (?:-\w{1,3} ){0,2})?(?:\/(?:usr\/)?bin\/)?(?:env )?(?:ba|z|da|k)?sh\b/iy,
    message: "pipes a download into a shell",
    judge: pipedToShell,
  },
  {
    ...REMOTE,
    code: "remote_execution",
    hints: ["curl ", "wget "],
    needs: "|",
    pattern:
      /(?:curl|wget) [^\n|;]{4,300}\|[ \t]{0,4}(?:sudo )?(?:python3?|node|perl|ruby|php)\b(?! -[cem]| -m)/iy,
    message: "pipes a download into an interpreter",
    judge: pipedToShell,
  },
  {
    ...REMOTE,
    code: "remote_execution",
    hints: ["bash <(", "bash -c", "sh -c ", "eval ", "source <("],
    pattern:
      /(?:bash|sh|eval|source)[ \t]{1,4}(?:-c[ \t]{1,4})?["']?(?:<|\$)\([ \t]{0,4}(?:curl|wget)[^\n)]{1,300}/iy,
    message: "runs the output of a download",
    judge: pipedToShell,
  },
  {
    ...REMOTE,
    code: "remote_execution",
    hints: ["iex(", "iex (", "invoke-expression", "| iex", "|iex"],
    pattern:
      /(?:\|[ \t]?iex\b|(?:iex|invoke-expression)[ \t]{0,4}\(?[^\n]{0,40}(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|net\.webclient)[^\n]{0,200})/iy,
    message: "runs a download in PowerShell",
    judge: pipedToShell,
  },
  {
    ...REMOTE,
    code: "remote_execution",
    hints: ["eval(", "exec("],
    pattern:
      /(?:eval|exec)\([^\n]{0,40}(?:requests\.get|urlopen|urllib|fetch\(|axios|https?:\/\/)[^\n]{0,200}/iy,
    message: "evaluates what it fetches",
    severity: "high",
  },
  {
    ...HIDDEN,
    code: "encoded_execution",
    hints: ["echo "],
    pattern:
      /echo [ \t]{0,3}(?:-n )?["']?([A-Za-z0-9+/]{24,8000}={0,2})["']?[ \t]{0,3}\|[ \t]{0,3}(?:openssl )?base64 [^\n|]{1,20}\|[ \t]{0,3}(?:sudo )?(?:ba|z)?sh\b/iy,
    message: "decodes a text and runs it in a shell",
    judge: encodedPayload,
  },
  {
    ...HIDDEN,
    code: "encoded_execution",
    hints: ["base64 "],
    needs: "|",
    pattern: /base64 (?:-d|-D|--decode)\b[^\n|]{0,200}\|[ \t]{0,3}(?:sudo )?(?:ba|z)?sh\b/iy,
    message: "decodes a text and runs it in a shell",
  },
  {
    ...HIDDEN,
    code: "encoded_execution",
    hints: ["powershell"],
    pattern:
      /powershell(?:\.exe)?[^\n]{0,80} -e(?:nc|ncodedcommand|c)?[ \t]{1,4}["']?([A-Za-z0-9+/]{24,8000}={0,2})/iy,
    message: "runs an encoded PowerShell command",
    judge: encodedPayload,
  },
  {
    ...HIDDEN,
    code: "encoded_execution",
    hints: ["exec(", "eval("],
    pattern:
      /(?:exec|eval)\([^\n]{0,40}(?:b64decode|atob\(|fromCharCode|bytes\.fromhex|unhexlify|zlib\.decompress|marshal\.loads|codecs\.decode)[^\n]{0,200}/iy,
    message: "decodes a text and runs it as code",
  },
  {
    code: "reverse_shell",
    owasp: "AST01",
    severity: "critical",
    confidence: "medium",
    hints: ["/dev/tcp/", "/dev/udp/"],
    pattern: /\/dev\/(?:tcp|udp)\/([A-Za-z0-9.$_{}-]{1,100})\/\S{1,40}/iy,
    message: "opens a connection from a shell, as reverse shells do",
    advice: "do not use the skill unless you know why it needs this",
    judge(match, text) {
      const isCertain = text.kind === "script" && isPublicAddress(match[1] ?? "");
      if (isCertain) return { blocks: true, confidence: "high" };
      return /^(?:localhost|127\.|\$|redis|db|postgres)/i.test(match[1] ?? "")
        ? { severity: "low" }
        : {};
    },
  },
  {
    code: "reverse_shell",
    owasp: "AST01",
    severity: "high",
    confidence: "medium",
    hints: ["ncat ", "netcat "],
    pattern:
      /(?:ncat|netcat) [^\n]{0,60}-e[ \t]{1,3}(?:\/bin\/)?(?:ba|z)?(?:sh|cmd)\b[^\n]{0,60}/iy,
    message: "gives a shell to whoever is connected",
    advice: "do not use the skill unless you know why it needs this",
  },
];
