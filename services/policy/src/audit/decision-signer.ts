import { setImmediate as nextTurn } from "node:timers/promises";
import { MAX_PATH, type DecisionSignature } from "@switchyard/contracts/policy/audit-signatures";
import {
  admissionText,
  batchText,
  decisionText,
  leafOf,
  treeOf,
  type SignedAdmission,
  type SignedDecision,
} from "@switchyard/contracts/policy/signed-texts";

/**
 * Signs decisions that let calls pass, so that a tool provider's own record proves them. An Ed25519 signature takes some 50 µs of
 * processor time, so the decisions of one turn of the event loop are signed together: one signature over the root of a Merkle
 * tree, and for each decision the path to the root. Null where no key may sign.
 */
export interface DecisionSigner {
  decision(decision: SignedDecision): Promise<DecisionSignature | null>;
  admission(admission: SignedAdmission): Promise<DecisionSignature | null>;
}

/** Signs with the key that is in use; null when every key was revoked. */
export type SignText = (
  text: string,
) => { readonly kid: string; readonly signature: string } | null;
type Proof = Pick<DecisionSignature, "kid" | "signature" | "path">;

interface Batch {
  readonly leaves: string[];
  readonly proofs: Promise<readonly (Proof | null)[]>;
}

const MAX_BATCH = 2 ** MAX_PATH;

export function createDecisionSigner(signText: SignText): DecisionSigner {
  let open: Batch | null = null;

  const begin = (): Batch => {
    const leaves: string[] = [];
    const batch: Batch = {
      leaves,
      proofs: nextTurn().then(() => {
        if (open === batch) open = null;
        return proofsOf(leaves, signText);
      }),
    };
    return batch;
  };
  const proof = async (text: string): Promise<Proof | null> => {
    if (open === null || open.leaves.length >= MAX_BATCH) open = begin();
    const { leaves, proofs } = open;
    const index = leaves.push(leafOf(text)) - 1;
    return (await proofs)[index] ?? null;
  };

  return {
    async decision(decision) {
      const { at, keptForMs } = decision;
      const signed = await proof(decisionText(decision));
      if (signed === null) return null;
      return { at, ...(keptForMs === null ? {} : { keptForMs }), ...signed };
    },
    async admission(admission) {
      const signed = await proof(admissionText(admission));
      return signed === null ? null : { at: admission.at, ...signed };
    },
  };
}

function proofsOf(leaves: readonly string[], signText: SignText): readonly (Proof | null)[] {
  const { root, paths } = treeOf(leaves);
  const by = signText(batchText(root));
  if (by === null) return leaves.map(() => null);
  const { kid, signature } = by;
  return paths.map((path) =>
    path.length === 0 ? { kid, signature } : { kid, signature, path: [...path] },
  );
}
