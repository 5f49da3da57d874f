import { hash } from "node:crypto";
import type { z } from "zod";
import type { AuditExportPart } from "./audit-queries.ts";
import type { ChainHead } from "./audit.ts";
import { canonicalJson } from "../canonical-json.ts";
import type { AccessKind, Decision, Principal } from "./policy.ts";
import type { ToolRef } from "../tool-names.ts";

/**
 * The texts that the policy service signs in the audit with the keys of its run tokens (Ed25519 over their UTF-8 bytes). Each
 * begins with its kind, and a space and a line break in it keep it from ever being the signing input of a token (RFC 7515).
 */

/** A decision in the form of a tool provider's record of the call. */
export interface SignedDecision {
  /** The policy's own record of it, `{writer}:{seq}`. */
  readonly record: string;
  /** In milliseconds since the Unix epoch. */
  readonly at: number;
  /** The NATS user that made the request, and the one on whose behalf it was made. */
  readonly provider: string;
  readonly caller: string;
  readonly principal: Principal;
  readonly access: AccessKind;
  readonly tool: ToolRef;
  readonly pin: string | null;
  /** The digest of the canonical JSON of the arguments; null when the decision is about any arguments. */
  readonly argsDigest: string | null;
  readonly effect: Decision["effect"];
  readonly rule: string | null;
  readonly policyDigest: string;
  readonly keptForMs: number | null;
}

export function decisionText(decision: SignedDecision): string {
  const { record, at, provider, caller, principal, access, tool, pin } = decision;
  const { argsDigest, effect, rule, policyDigest, keptForMs } = decision;
  return lines("decision 1", [
    record,
    at,
    provider,
    caller,
    canonicalJson(principal),
    access,
    tool.name,
    tool.server,
    tool.tool,
    pin,
    argsDigest,
    effect,
    rule,
    policyDigest,
    keptForMs,
  ]);
}

/** The statement that a person's approval or grant lets one call pass. */
export interface SignedAdmission {
  readonly at: number;
  readonly provider: string;
  readonly caller: string;
  readonly approvalId: string | null;
  readonly grantId: string | null;
  readonly argsDigest: string;
  readonly policyDigest: string;
}

export function admissionText(admission: SignedAdmission): string {
  const { at, provider, caller, approvalId, grantId, argsDigest, policyDigest } = admission;
  return lines("admission 1", [
    at,
    provider,
    caller,
    approvalId,
    grantId,
    argsDigest,
    policyDigest,
  ]);
}

/** The signed text of decisions that were made together: the root of a Merkle tree over their {@link leafOf}. */
export function batchText(root: string): string {
  return lines("decisions 1", [root]);
}

/** The signed text of the heads of chains at a moment. */
export function sealText(signedAt: string, heads: readonly ChainHead[]): string {
  return lines("seal 1", [
    signedAt,
    heads.map(({ writer, seq, hash: head }) => [writer, seq, head]),
  ]);
}

export function exportText(
  part: Omit<z.infer<typeof AuditExportPart>, "kid" | "signature">,
): string {
  return lines("export 1", [canonicalJson(part)]);
}

function lines(kind: string, content: readonly unknown[]): string {
  return `switchyard ${kind}\n${JSON.stringify(content)}`;
}

/** The leaf of a text in the tree of a batch. */
export function leafOf(text: string): string {
  return hash("sha256", `leaf\n${text}`, "base64url");
}

/** The parent of two hashes, in whichever order they are given. */
export function parentOf(one: string, other: string): string {
  const [low, high] = one < other ? [one, other] : [other, one];
  return hash("sha256", `node\n${low}\n${high}`, "base64url");
}

/** The end of a path from a leaf: the root, when the leaf is in the tree. */
export function rootOf(leaf: string, path: readonly string[] = []): string {
  return path.reduce(parentOf, leaf);
}

/** The root of a tree over the leaves, and from each leaf its path. */
export function treeOf(leaves: readonly string[]): {
  readonly root: string;
  readonly paths: readonly (readonly string[])[];
} {
  const paths: string[][] = leaves.map(() => []);
  // Each node lists the leaves below it.
  let level = leaves.map((node, index) => ({ node, below: [index] }));
  while (level.length > 1) {
    const next: typeof level = [];
    for (let at = 0; at < level.length; at += 2) {
      const [left, right] = [level[at], level[at + 1]];
      if (left === undefined) break;
      if (right === undefined) {
        next.push(left);
        break;
      }
      for (const index of left.below) paths[index]?.push(right.node);
      for (const index of right.below) paths[index]?.push(left.node);
      const below = [...left.below, ...right.below];
      next.push({ node: parentOf(left.node, right.node), below });
    }
    level = next;
  }
  return { root: level[0]?.node ?? "", paths };
}
