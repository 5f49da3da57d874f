import { z } from "zod";
import { WithheldReason } from "./definition-store.ts";
import { Digest, Timestamp } from "../ids.ts";

/** The entries of the OWASP Agentic Skills Top 10. */
export const OwaspAst = z.enum([
  "AST01", // malicious skill
  "AST02", // supply chain
  "AST03", // over-privileged
  "AST04", // insecure metadata
  "AST05", // untrusted external instructions
  "AST06", // weak isolation
  "AST07", // update drift
  "AST08", // poor scanning
  "AST09", // no governance
  "AST10", // cross-platform reuse
]);
export type OwaspAst = z.infer<typeof OwaspAst>;

/** The effect if the finding is right. */
export const ScanSeverity = z.enum(["info", "low", "medium", "high", "critical"]);
export type ScanSeverity = z.infer<typeof ScanSeverity>;

/** The likelihood that the finding is right. */
export const ScanConfidence = z.enum(["low", "medium", "high"]);
export type ScanConfidence = z.infer<typeof ScanConfidence>;

/** One thing that a scanner found in a skill's files. */
export const ScanFinding = z.object({
  /** Stable snake_case code, such as `remote_execution`. */
  code: z.string(),
  owasp: OwaspAst,
  severity: ScanSeverity,
  confidence: ScanConfidence,
  /** True: this finding alone blocks the skill. */
  blocks: z.boolean(),
  /** Relative to the skill's directory. */
  file: z.string(),
  line: z.int().positive().nullable(),
  column: z.int().positive().nullable(),
  /** The text that was found: shortened, invisible characters escaped, secrets masked. */
  evidence: z.string().max(200),
  message: z.string(),
  /** The remedy. */
  advice: z.string(),
});
export type ScanFinding = z.infer<typeof ScanFinding>;

/**
 * Accepts findings of one code. The scope is exactly one version (`digest`) or one file (`path`);
 * a suppression without a reason or without a scope is not valid.
 */
export const ScanSuppression = z
  .strictObject({
    code: z.string().min(1).max(64),
    reason: z.string().trim().min(1).max(500),
    /** The version that it covers: the digest of the scan's request. */
    digest: Digest.optional(),
    /** The file that it covers, relative to the skill's directory. */
    path: z.string().min(1).max(512).optional(),
    /** From then on it has no effect, and the report notes that. */
    expiresAt: Timestamp.optional(),
  })
  .refine(({ digest, path }) => digest !== undefined || path !== undefined, {
    message: "a suppression needs a digest or a path",
  });
export type ScanSuppression = z.infer<typeof ScanSuppression>;

/** A file, or a part of one, that the scanner did not read. */
export const UnscannedPart = z.object({
  file: z.string(),
  code: z.enum([
    "binary_file",
    "undecodable_text",
    "file_cut",
    "too_many_files",
    "too_many_bytes",
    "deadline",
  ]),
  message: z.string(),
});
export type UnscannedPart = z.infer<typeof UnscannedPart>;

/** Names of one kind: those that the frontmatter declares, and those that body and scripts use. */
export const CapabilityUse = z.object({
  declared: z.array(z.string()),
  used: z.array(z.string()),
  /** Used and not declared. */
  undeclared: z.array(z.string()),
});
export type CapabilityUse = z.infer<typeof CapabilityUse>;

export const SkillCapabilities = z.object({
  env: CapabilityUse,
  bins: CapabilityUse,
  /** No format has a field for hosts; the declared ones are the hosts of homepage and install entries. */
  hosts: CapabilityUse,
  /** `declared` is empty and nothing is undeclared when the skill requests no particular tools. */
  tools: CapabilityUse,
});
export type SkillCapabilities = z.infer<typeof SkillCapabilities>;

/**
 * `blocked`: a finding that blocks. `partial`: none, but not everything could be read. `findings`: everything was read, with findings.
 * `clean`: everything was read, without findings above info.
 */
export const ScanVerdict = z.enum(["clean", "findings", "partial", "blocked"]);
export type ScanVerdict = z.infer<typeof ScanVerdict>;

export const ScanReport = z.object({
  /** Version of the rules; a verdict holds for one digest and one version. */
  scanner: z.string(),
  verdict: ScanVerdict,
  /** The worst first, at most 100. */
  findings: z.array(ScanFinding),
  /** Findings beyond the listed ones. */
  leftOut: z.int().nonnegative(),
  suppressed: z.array(z.object({ finding: ScanFinding, reason: z.string() })),
  /** Suppressions without effect: `expired`, or `unused` because nothing matched. */
  idleSuppressions: z.array(
    z.object({ suppression: ScanSuppression, why: z.enum(["expired", "unused"]) }),
  ),
  unscanned: z.array(UnscannedPart),
  capabilities: SkillCapabilities,
  files: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
});
export type ScanReport = z.infer<typeof ScanReport>;

/**
 * The material that a person reviews before they trust a version. A reply has it when the version was named, also
 * when that version is withheld.
 */
export const VersionReview = z.object({
  /** The skill's own file first; invisible characters are written as `\u{…}`. */
  files: z.array(
    z.object({
      path: z.string(),
      sizeBytes: z.int().nonnegative(),
      /** Null for a file that is not text, and beyond 256 KiB of all files together. */
      text: z.string().nullable(),
    }),
  ),
  /** Null when the version was never scanned. */
  scan: ScanReport.nullable(),
  /** Null when it is not withheld. */
  withheld: WithheldReason.nullable(),
});
export type VersionReview = z.infer<typeof VersionReview>;
