import type { PatternRule } from "../pattern-rule.ts";

/** What changes the machine or other agents beyond the task. */
export const SYSTEM_CHANGES: readonly PatternRule[] = [
  {
    code: "destructive_command",
    owasp: "AST03",
    severity: "high",
    confidence: "medium",
    hints: ["rm -rf", "rm -fr"],
    pattern:
      /rm -(?:rf|fr)[ \t]{1,4}(?:--no-preserve-root )?["']?(?:\/(?:\*)?|~\/?|\$HOME\/?|\$\{HOME\}\/?)["']?(?=[ \t\n;&|`]|$)/iy,
    message: "deletes a whole home or system directory",
    advice: "name exactly what is to be deleted",
  },
  {
    code: "destructive_command",
    owasp: "AST03",
    severity: "medium",
    confidence: "low",
    hints: ["mkfs.", "of=/dev/"],
    pattern: /(?:mkfs\.\w{2,6}[ \t]|of=\/dev\/(?:sd|nvme|disk|hd))[^\n]{0,60}/iy,
    message: "overwrites a disk",
    advice: "ask a person for the device each time",
  },
  {
    code: "confirmation_bypass",
    owasp: "AST03",
    severity: "medium",
    confidence: "medium",
    hints: [
      "--dangerously-skip-permissions",
      "--dangerously-bypass",
      "--yolo",
      "--allow-dangerously",
    ],
    pattern: /--[\w-]{4,60}/iy,
    message: "switches off the questions that protect the user",
    advice: "leave the decision about each call to the policy",
  },
  {
    code: "insecure_tls",
    owasp: "AST06",
    severity: "low",
    confidence: "medium",
    hints: [
      "curl -k",
      "curl --insecure",
      "verify=false",
      "node_tls_reject_unauthorized=0",
      "rejectunauthorized: false",
      "--no-check-certificate",
    ],
    pattern:
      /(?:curl (?:-k\b|--insecure)|verify=false\b|node_tls_reject_unauthorized=0|rejectunauthorized: false|--no-check-certificate)/iy,
    message: "does not check who answers",
    advice: "install the certificate authority that is missing",
  },
  {
    code: "gatekeeper_bypass",
    owasp: "AST01",
    severity: "medium",
    confidence: "medium",
    hints: [
      "xattr -",
      "spctl --master-disable",
      "set-mppreference",
      "disable windows defender",
      "disable your antivirus",
      "disable antivirus",
    ],
    pattern:
      /(?:xattr -\w{1,3}[^\n]{0,12}(?:com\.apple\.quarantine|-c\b)|xattr -c[r]?\b|spctl --master-disable|set-mppreference[^\n]{0,60}|disable (?:windows defender|(?:your )?antivirus))/iy,
    message: "switches off the system's own check of programs",
    advice: "use a signed program",
  },
  {
    code: "crypto_mining",
    owasp: "AST01",
    severity: "high",
    confidence: "medium",
    hints: ["stratum+tcp://", "stratum+ssl://", "xmrig"],
    pattern: /(?:stratum\+(?:tcp|ssl):\/\/[^\s"'`]{4,80}|xmrig\b)/iy,
    message: "mines for a crypto currency",
    advice: "do not use the skill",
  },
  {
    code: "unpinned_dependency",
    owasp: "AST02",
    severity: "info",
    confidence: "medium",
    hints: ["npx -y ", "npx --yes ", "uvx ", "pip install git+"],
    pattern:
      /(?:npx (?:-y|--yes) (?:@[\w.-]{1,60}\/)?[\w.-]{1,80}(?!@[\d])(?=[\s`]|@latest|$)|uvx [\w.-]{2,80}(?=[\s`]|$)|pip install git\+[^\s@]{4,200}(?=[\s`]|$))/iy,
    message: "runs whatever version of a package is the newest",
    advice: "name the version",
  },
];
