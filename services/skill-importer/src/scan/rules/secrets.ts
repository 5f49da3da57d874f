import { crc32 } from "node:zlib";
import type { PatternRule } from "../pattern-rule.ts";

const PLACEHOLDER =
  /example|placeholder|your|insert|replace|change|dummy|fake|sample|test|xxxx|\.\.\.|1234567|abcdef|000000|<|>|\*\*\*|secret_?key|redacted|todo/i;
const MIN_ENTROPY_BITS = 3.2;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const SECRET = {
  owasp: "AST04",
  severity: "high",
  confidence: "medium",
  message: "looks like a real secret",
  advice: "revoke it, and read it from an environment variable",
} as const;

const looksReal: PatternRule["judge"] = (match) => (isRandom(match[1] ?? match[0]) ? {} : null);

/** Neither a placeholder nor a text that repeats itself. */
function isRandom(token: string): boolean {
  return !PLACEHOLDER.test(token) && entropyBits(token) >= MIN_ENTROPY_BITS;
}

/** Tokens of GitHub and npm end in a checksum of what stands before it. */
const hasChecksum: PatternRule["judge"] = (match) => {
  const token = match[1] ?? "";
  if (checksumOf(token.slice(0, -6)) === token.slice(-6))
    return { confidence: "high", severity: "critical" };
  return isRandom(token) ? { confidence: "low", severity: "low" } : null;
};

export const SECRETS: readonly PatternRule[] = [
  {
    ...SECRET,
    code: "secret_github",
    hints: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    pattern: /gh[pousr]_([A-Za-z0-9]{36})(?![A-Za-z0-9])/y,
    judge: hasChecksum,
  },
  {
    ...SECRET,
    code: "secret_github",
    hints: ["github_pat_"],
    pattern: /github_pat_([A-Za-z0-9]{22}_[A-Za-z0-9]{59})(?![A-Za-z0-9])/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_npm",
    hints: ["npm_"],
    pattern: /npm_([A-Za-z0-9]{36})(?![A-Za-z0-9])/y,
    judge: hasChecksum,
  },
  {
    ...SECRET,
    code: "secret_aws",
    hints: ["akia", "asia"],
    pattern: /(?:AKIA|ASIA)([A-Z2-7]{16})(?![A-Z0-9])/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_anthropic",
    hints: ["sk-ant-"],
    pattern: /sk-ant-[a-z]{2,6}\d{2}-([\w-]{80,120})/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_openai",
    hints: ["sk-proj-", "sk-svcacct-"],
    pattern: /sk-(?:proj|svcacct)-([\w-]{40,200})/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_slack",
    hints: ["xoxb-", "xoxp-", "xoxa-", "xoxs-"],
    pattern: /xox[bpas]-(\d{8,14}-[\w-]{20,100})/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_google",
    hints: ["aiza"],
    pattern: /AIza([\w-]{35})(?![\w-])/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_stripe",
    hints: ["sk_live_", "rk_live_"],
    pattern: /[sr]k_live_([A-Za-z0-9]{24,100})/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_gitlab",
    hints: ["glpat-"],
    pattern: /glpat-([\w-]{20,64})/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_pypi",
    hints: ["pypi-ageichlwas5vcmc"],
    pattern: /pypi-AgEIcHlwaS5vcmc([\w-]{50,250})/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_telegram",
    hints: ["api.telegram.org/bot"],
    pattern: /api\.telegram\.org\/bot(\d{8,10}:[\w-]{35})/iy,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_webhook",
    hints: ["hooks.slack.com/services/t"],
    pattern: /hooks\.slack\.com\/services\/(T[A-Z0-9]{8,12}\/B[A-Z0-9]{8,12}\/[A-Za-z0-9]{20,32})/y,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_webhook",
    hints: ["discord.com/api/webhooks/"],
    pattern: /discord\.com\/api\/webhooks\/(\d{17,20}\/[\w-]{60,80})/iy,
    judge: looksReal,
  },
  {
    ...SECRET,
    code: "secret_private_key",
    hints: ["-----begin "],
    pattern: /-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----\s{1,4}([A-Za-z0-9+/=]{40,80}\s)/y,
    judge: looksReal,
    message: "holds a private key",
  },
  {
    ...SECRET,
    code: "secret_in_url",
    severity: "medium",
    hints: [
      "postgres://",
      "postgresql://",
      "mysql://",
      "mongodb://",
      "mongodb+srv://",
      "redis://",
      "amqp://",
    ],
    pattern: /[a-z+]{5,12}:\/\/[\w.-]{1,64}:([^\s:@/$<>{}"'`]{12,80})@[a-z0-9.-]{4,200}/iy,
    message: "an address with a password in it",
    judge(match) {
      const isLocal = /@(?:localhost|127\.0\.0\.1|db|host)\b/i.test(match[0]);
      return isLocal || !isRandom(match[1] ?? "") ? null : {};
    },
  },
];

function checksumOf(text: string): string {
  let rest = crc32(text);
  let written = "";
  for (let count = 0; count < 6; count += 1) {
    written = (BASE62[rest % 62] ?? "") + written;
    rest = Math.floor(rest / 62);
  }
  return written;
}

/** Shannon's measure, in bits a character. */
function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
