import type { AskedFor, PolicyGate } from "./policy-gate.ts";

/**
 * Does the work of a call, and gives back what the policy reserved for it when it is over, however
 * it ends. What cannot be given back lapses by itself, so nobody waits for it and no error is told.
 */
export async function withHeldPlaces<T>(
  gate: Pick<PolicyGate, "release">,
  asked: AskedFor,
  work: (asked: AskedFor) => Promise<T>,
): Promise<T> {
  const held: string[] = [];
  try {
    return await work({ ...asked, onReserved: (reservation) => held.push(reservation) });
  } finally {
    for (const reservation of held) gate.release(reservation).catch(() => undefined);
  }
}
