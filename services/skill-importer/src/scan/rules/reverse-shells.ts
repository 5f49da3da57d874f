import { spanAround } from "../near.ts";
import type { PatternRule } from "../pattern-rule.ts";
import { isUntrusted, type Places } from "../places.ts";
import type { ScannedText } from "../scanned-text.ts";

const SHELL = {
  code: "reverse_shell",
  owasp: "AST01",
  severity: "high",
  confidence: "medium",
  message: "gives a shell to another machine",
  advice: "do not use the skill unless you know why it needs this",
} as const;
const GIVES_SHELL =
  /(?:ba|z|da)?sh -i|\/bin\/(?:ba|z)?sh|cmd(?:\.exe)?\b|pty\.spawn|dup2|powershell|\bexec:|child_process|subprocess/i;

/** Shells that another machine is given. To a public address there is no honest one. */
export function reverseShells(places: Places): readonly PatternRule[] {
  const judgeWithin = (lines: { before: number; after: number }) => {
    return (match: RegExpExecArray, text: ScannedText) => {
      const near = spanAround(text, match.index, lines);
      if (!GIVES_SHELL.test(text.text.slice(near.start, near.end))) return null;
      const isOutside = places
        .near(text, near, true)
        .some(({ kind }) => kind === "address" || kind === "known_bad" || kind === "catch");
      return isOutside ? ({ severity: "critical", confidence: "high", blocks: true } as const) : {};
    };
  };
  const onLine = judgeWithin({ before: 0, after: 0 });
  return [
    {
      ...SHELL,
      severity: "critical",
      hints: ["/dev/tcp/", "/dev/udp/"],
      pattern: /\/dev\/(?:tcp|udp)\/([A-Za-z0-9.$_{}-]{1,100})\/\S{1,40}/iy,
      message: "opens a connection from a shell, as reverse shells do",
      judge(match, text) {
        const host = match[1] ?? "";
        if (isUntrusted(places.of(host))) return { blocks: true, confidence: "high" };
        const isLocal = /^(?:localhost|127\.|redis|db|postgres)/i.test(host);
        if (isLocal) return { severity: "low" };
        if (!host.includes("$")) return {};
        return judgeWithin({ before: 6, after: 1 })(match, text) ?? { severity: "low" };
      },
    },
    {
      ...SHELL,
      hints: ["ncat ", "netcat ", "socat ", "nc -", "| nc ", "mkfifo "],
      pattern:
        /(?:(?:ncat|netcat|nc) [^\n]{0,80}(?:-e|-c|--exec|--sh-exec)\b|socat [^\n]{0,80}exec:|\| nc [^\n]{4,60}|mkfifo )[^\n]{0,60}/iy,
      judge: onLine,
    },
    {
      ...SHELL,
      hints: ["socket.socket", "fsockopen", "net.sockets.tcpclient", "net.socket(", "tcpsocket"],
      pattern: /(?:socket\.socket|fsockopen|net\.sockets\.tcpclient|net\.socket\(|tcpsocket)/iy,
      judge: judgeWithin({ before: 2, after: 5 }),
    },
  ];
}
