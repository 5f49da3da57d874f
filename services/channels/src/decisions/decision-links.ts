import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { readSecretFile } from "@switchyard/service/secret-file";
import { isSame } from "./press-button.ts";
import { subjectOf, type Prompt } from "./prompt-store.ts";

/** The parts of a link in a mail that this installation has signed. */
export interface SignedLink {
  readonly promptId: string;
  readonly code: string;
  /** True for the call or question, the person and the end of the time to decide that the link was signed for. */
  readonly isFor: (prompt: Prompt) => boolean;
}

/** The signatures of links in mails. A forged link is refused without a look at what is stored. */
export interface DecisionLinks {
  /** Returns the end of the address of a prompt's page; null for a prompt without a link. */
  tokenOf(prompt: Prompt): string | null;
  /** Returns null for a token that was not signed with the key of this installation. */
  read(token: string): SignedLink | null;
}

/** Keeps the key of the links apart from the other uses of the service's key. */
const PURPOSE = "switchyard links in mails";
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 16;

/**
 * The key is derived from the NKey of the service, which all of its replicas have and Redis has not. Without one, as in a test without
 * NATS users, links end with the process. Rejects with a StartError.
 */
export async function createDecisionLinks(nkeyFile: string | undefined): Promise<DecisionLinks> {
  const secret =
    nkeyFile === undefined
      ? randomBytes(KEY_BYTES)
      : await readSecretFile(nkeyFile, "YARD_NATS_NKEY_FILE");
  const key = Buffer.from(hkdfSync("sha256", secret, "", PURPOSE, KEY_BYTES));
  const sign = (text: string): string =>
    createHmac("sha256", key)
      .update(text)
      .digest()
      .subarray(0, SIGNATURE_BYTES)
      .toString("base64url");
  return {
    tokenOf(prompt) {
      if (prompt.linkCode === undefined) return null;
      const signed = [prompt.promptId, prompt.linkCode, factsOf(prompt)].join(".");
      return `${signed}.${sign(signed)}`;
    },
    read(token) {
      const at = token.lastIndexOf(".");
      const signed = token.slice(0, Math.max(0, at));
      if (!isSame(token.slice(at + 1), sign(signed))) return null;
      const [promptId = "", code = "", facts = ""] = signed.split(".");
      return { promptId, code, isFor: (prompt) => isSame(facts, factsOf(prompt)) };
    },
  };
}

/** 128 bits of the digest of the call or question, its arguments, the person, and the end of the time to decide. */
function factsOf(prompt: Prompt): string {
  const { binding, personId, expiresAt } = prompt;
  const digest = canonicalDigest([subjectOf(prompt), binding, personId, expiresAt]);
  return Buffer.from(digest.replace("sha256:", ""), "hex")
    .subarray(0, SIGNATURE_BYTES)
    .toString("base64url");
}
