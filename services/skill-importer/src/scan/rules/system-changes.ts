import type { PatternRule } from "../pattern-rule.ts";

const PERSISTS = {
  code: "persistence",
  owasp: "AST03",
  severity: "low",
  confidence: "medium",
  message: "installs something that runs later, or at every start",
  advice: "let a person do this once, knowingly",
} as const;

const SELF = {
  code: "memory_poisoning",
  owasp: "AST05",
  severity: "medium",
  confidence: "medium",
  message: "writes into a file that steers agents in other sessions",
  advice: "keep a skill's notes in a file of its own",
} as const;

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
  { ...PERSISTS, hints: ["crontab -"], pattern: /crontab -(?!l)[^\n]{0,60}/iy },
  {
    ...PERSISTS,
    hints: ["launchctl load", "systemctl enable", "schtasks /create"],
    pattern: /[^\n]{8,100}/iy,
  },
  {
    ...PERSISTS,
    hints: [">> ~/.bashrc", ">> ~/.zshrc", ">> ~/.profile", ">> $home/.bashrc"],
    pattern: /[^\n]{8,40}/iy,
  },
  {
    ...PERSISTS,
    code: "ssh_access",
    severity: "high",
    hints: [
      ">> ~/.ssh/authorized_keys",
      ">> $home/.ssh/authorized_keys",
      ">>~/.ssh/authorized_keys",
    ],
    pattern: /[^\n]{8,60}/iy,
    message: "lets somebody log in with a key",
  },
  {
    ...SELF,
    hints: ["append ", "write ", "add this", "insert ", "echo "],
    needs: ".md",
    pattern:
      /(?:append|write|add this|insert|echo) [^\n]{0,120}(?:\bto\b|\binto\b|>>?)[^\n]{0,30}\b(?:SOUL\.md|MEMORY\.md|AGENTS\.md|CLAUDE\.md|HEARTBEAT\.md|IDENTITY\.md)/iy,
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
