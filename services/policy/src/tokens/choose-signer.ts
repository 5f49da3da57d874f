/** `signs`: tokens are made with it. `next`: new, it will sign. `accepted`: its tokens are good until they end. */
export type KeyUse = "signs" | "next" | "accepted";

/**
 * Selects the key that signs from those in the file, the newest first; null when all are revoked. A new key waits until its lead is
 * over, because a replica that has not read it refuses its tokens; a revoked one is passed over.
 */
export function chooseSigner(
  kids: readonly string[],
  { isRevoked, isLeadOver }: { isRevoked: (kid: string) => boolean; isLeadOver: boolean },
): number | null {
  const [newest, ...older] = kids.keys();
  if (newest === undefined) return null;
  const inTurn = isLeadOver
    ? [newest, ...older]
    : [...older.slice(0, 1), newest, ...older.slice(1)];
  return inTurn.find((index) => !isRevoked(kids[index] ?? "")) ?? null;
}

/** Returns the use of a key, by its index in the file and that of the signing key. */
export function useOf(index: number, signing: number | null): KeyUse {
  if (index === signing) return "signs";
  return signing !== null && index < signing ? "next" : "accepted";
}
