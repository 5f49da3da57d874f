import { z } from "zod";
import { ResultEffect } from "./findings.ts";
import { event, rpc } from "../define.ts";
import { CallerName, Digest, Timestamp } from "../ids.ts";
import { ApprovalTier } from "./approval-tier.ts";
import { MAX_LABELS, ToolLabel } from "./policy.ts";
import { IfVersion, versionChanged } from "../if-version.ts";
import { PolicyFiles, PolicyProblem, PolicyTestResult } from "./policy-texts.ts";
import { ToolRef } from "../tool-names.ts";

/** One bundle that was in force. `version` counts from 1 and is never used twice. */
export const PolicyVersion = z.object({
  version: z.int().positive(),
  policyDigest: Digest,
  rules: z.int().nonnegative(),
  /** `file`: the files on disk were followed; `activated`: an admin sent it over the bus. */
  source: z.enum(["file", "activated"]),
  /** The user that activated it; null for the files on disk. */
  by: CallerName.nullable(),
  at: Timestamp,
  note: z.string().max(300).nullable(),
});
export type PolicyVersion = z.infer<typeof PolicyVersion>;

/** The number of versions that are stored. */
export const MAX_POLICY_VERSIONS = 50;
/** The most lines about refused files, listed beside the versions. */
export const MAX_REFUSED_LINES = 20;

const Note = z
  .string()
  .max(300)
  // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
  .regex(/^[^\x00-\x1f\x7f-\x9f]*$/u, "must be one line of text")
  .optional();
/** Allowed only for the users that the policy service's setting names. */
const ForbiddenAdmin = { data: z.object({ caller: z.string(), setting: z.string() }) };
const StoreUnavailable = { data: z.object({ cause: z.string() }), retryable: true } as const;
const UnknownVersion = { data: z.object({ version: z.int().nullable() }) };
const Refused = {
  data: z.object({
    problems: z.array(PolicyProblem).max(100),
    failing: z.array(PolicyTestResult).max(100),
  }),
};
const Activation = z.object({ active: PolicyVersion, previous: PolicyVersion.nullable() });

/** Brings a bundle into force on every replica, or returns to following the files on disk. */
export const activatePolicy = rpc({
  subject: "yard.rpc.{caller}.policy.activate",
  summary:
    "Checks a bundle with its tests and brings it into force on every replica; for policy admins.",
  role: "admin",
  request: z.strictObject({
    /** Exactly one of the three. */
    files: PolicyFiles.optional(),
    /** A version that was in force before. */
    version: z.int().positive().optional(),
    /** The files on disk, and from then on every change of them. */
    followFiles: z.literal(true).optional(),
    note: Note,
    /** The number of the newest version. */
    ifVersion: IfVersion,
  }),
  reply: Activation,
  errors: {
    forbidden_admin: ForbiddenAdmin,
    /** It has problems or a test of it fails; nothing changed. */
    refused: Refused,
    unknown_version: UnknownVersion,
    version_changed: versionChanged,
    bad_request_choice: { data: z.object({ given: z.array(z.string()) }) },
    overloaded: { data: z.object({ limit: z.int() }), retryable: true },
    store_unavailable: StoreUnavailable,
  },
  timeoutMs: 20_000,
});

export const rollbackPolicy = rpc({
  subject: "yard.rpc.{caller}.policy.rollback",
  summary: "Activates the bundle that was in force before the current one; for policy admins.",
  role: "admin",
  request: z.strictObject({ note: Note, ifVersion: IfVersion }),
  reply: Activation,
  errors: {
    forbidden_admin: ForbiddenAdmin,
    refused: Refused,
    unknown_version: UnknownVersion,
    version_changed: versionChanged,
    overloaded: { data: z.object({ limit: z.int() }), retryable: true },
    store_unavailable: StoreUnavailable,
  },
  timeoutMs: 20_000,
});

export const listPolicyVersions = rpc({
  subject: "yard.rpc.{caller}.policy.versions",
  summary: "Lists the bundles that were in force, the newest first.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({
    /** The policy by which this replica decides. */
    policyDigest: Digest,
    /** True while the files on disk are followed. */
    followsFiles: z.boolean(),
    /**
     * The positions and reasons for which the files on disk cannot come into force; null when they can. At most the first lines, from
     * this replica.
     */
    filesRefused: z.array(z.string().max(2_000)).max(MAX_REFUSED_LINES).nullable().optional(),
    versions: z.array(PolicyVersion).max(MAX_POLICY_VERSIONS),
  }),
  errors: { store_unavailable: StoreUnavailable },
  timeoutMs: 5_000,
});

/** A change of the rules begins with these files and names their `version` in `ifVersion`. */
export const readPolicyTexts = rpc({
  subject: "yard.rpc.{caller}.policy.texts",
  summary: "Returns the files of the rules in force and of their tests; for policy admins.",
  role: "admin",
  request: z.strictObject({}),
  reply: z.object({
    /** The number of the newest version; 0 when none was stored yet. */
    version: z.int().nonnegative(),
    policyDigest: Digest,
    files: PolicyFiles,
  }),
  errors: { forbidden_admin: ForbiddenAdmin, store_unavailable: StoreUnavailable },
  timeoutMs: 5_000,
});

/** Longer words of a rule are cut. */
export const MAX_RULE_WORDS = 300;
const RuleWords = z.string().max(MAX_RULE_WORDS);

/** One rule in force, in words for people. */
export const PolicyRule = z.object({
  id: z.string(),
  effect: z.enum(["allow", "deny"]),
  /** A person's part in a call; absent for deny rules, and where the tool itself defines it. */
  tier: ApprovalTier.optional(),
  /** The people who have to approve, such as `2 of group:security, not the requester`; absent when one approver is enough. */
  approve: RuleWords.optional(),
  /** Such as `agent reviewer, and user ann`. */
  who: RuleWords,
  /** Such as `files.read_*`. */
  what: RuleWords,
  /** Conditions that all of the arguments have to meet; empty when any arguments fit. */
  when: z.array(RuleWords).max(50),
  /** Kinds of masked values that the tool gets; absent for rules without `unmask`. */
  unmask: RuleWords.optional(),
  note: z.string().nullable(),
});
export type PolicyRule = z.infer<typeof PolicyRule>;

/** One rule about results in force, in words for people. */
export const PolicyResultRule = z.object({
  id: z.string(),
  effect: ResultEffect,
  who: RuleWords,
  what: RuleWords,
  /** The kinds of content that it looks for. */
  finds: RuleWords,
});
export type PolicyResultRule = z.infer<typeof PolicyResultRule>;

export const listPolicyRules = rpc({
  subject: "yard.rpc.{caller}.policy.rules",
  summary: "Lists the rules in force in words, in the order of their ids.",
  role: "viewer",
  request: z.strictObject({
    /** Returns the rules behind the rule of this id. */
    after: z.string().max(64).optional(),
    limit: z.int().min(1).max(50).default(50),
  }),
  reply: z.object({
    policyDigest: Digest,
    rules: z.array(PolicyRule).max(50),
    /** The rules about results, in the first page alone. */
    results: z.array(PolicyResultRule).optional(),
    /** For `after`; null when there are no more. */
    next: z.string().nullable(),
  }),
  timeoutMs: 5_000,
});

/** The rule of a reach that no rule decides: a file access that none names. No rule can have this id. */
export const NO_RULE = "(no rule)";

/** The principals that can call a tool by rules and layers: exact, and for all arguments. */
export const ToolReach = z.object({
  /** Its id, or `(no rule)` for a file access that no rule names. */
  rule: z.string(),
  tier: ApprovalTier,
  /** Globs; null is anyone. All that are given must match. */
  users: z.array(z.string()).nullable(),
  agents: z.array(z.string()).nullable(),
  roles: z.array(z.string()).nullable(),
  channels: z.array(z.string()).nullable(),
  groups: z.array(z.string()).nullable(),
  /** Only with arguments that meet the rule's conditions. */
  conditional: z.boolean(),
  /** Deny rules and layers that exclude some of these principals, or some arguments. */
  except: z.array(z.string()),
});
export type ToolReach = z.infer<typeof ToolReach>;

export const whoCanCall = rpc({
  subject: "yard.rpc.{caller}.policy.who-can",
  summary: "Returns who may call a tool: principals, rules that allow it, and exceptions.",
  role: "viewer",
  request: z.strictObject({
    tool: ToolRef,
    /** Labels of the tool's server. */
    labels: z.array(ToolLabel).max(MAX_LABELS).optional(),
  }),
  reply: z.object({
    tool: ToolRef,
    policyDigest: Digest,
    /** Empty when no principal can. */
    reach: z.array(ToolReach).max(1_000),
    /** Deny rules that no principal and no arguments escape. */
    deniedBy: z.array(z.string()).max(100),
    /** The number of those that are not listed. */
    omitted: z.int().nonnegative(),
  }),
  timeoutMs: 5_000,
});

/** An admin changed which bundle is in force; each replica reports with `activated` when it decides by it. */
export const versionActivated = event({
  subject: "yard.evt.policy.{bundle}.version-activated",
  summary: "A policy admin activated a version, new or earlier.",
  payload: PolicyVersion.extend({ bundle: z.string() }),
});

/** The rule set in force was replaced, or a new one was refused and the old one stays. */
export const bundleActivated = event({
  subject: "yard.evt.policy.{bundle}.activated",
  summary: "A policy bundle came into force.",
  payload: z.object({
    bundle: z.string(),
    policyDigest: Digest,
    rules: z.int().nonnegative(),
    at: Timestamp,
  }),
});

export const bundleRefused = event({
  subject: "yard.evt.policy.{bundle}.refused",
  summary: "A changed policy bundle has errors; the one in force stays.",
  payload: z.object({
    bundle: z.string(),
    policyDigest: Digest,
    errors: z.array(z.string()).max(50),
    at: Timestamp,
  }),
});
