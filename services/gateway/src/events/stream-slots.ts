import { Problem } from "../problems/problem.ts";

/** Counts the streams of events that each caller has open on this replica. */
export interface StreamSlots {
  /** Acquires a slot and returns a function that releases it. Throws a Problem when the caller has no slot left. */
  take(caller: string): () => void;
}

export function createStreamSlots(limit: number): StreamSlots {
  const taken = new Map<string, number>();
  return {
    take(caller) {
      const open = taken.get(caller) ?? 0;
      if (open >= limit)
        throw new Problem({
          status: 429,
          code: "too_many_streams",
          detail: `${caller} has ${limit} streams of events open on this gateway, which is the most; close one`,
          headers: { "retry-after": "5" },
        });
      taken.set(caller, open + 1);
      return () => {
        const left = (taken.get(caller) ?? 1) - 1;
        if (left === 0) taken.delete(caller);
        else taken.set(caller, left);
      };
    },
  };
}
