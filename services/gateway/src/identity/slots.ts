import { Problem } from "../problems/problem.ts";

/** Counts the open objects of one kind, such as streams, of each caller on this replica. */
export interface Slots {
  /** Acquires a slot and returns a function that releases it, once. Throws a Problem (429) when the caller has as many as allowed. */
  take(caller: string): () => void;
}

export function openSlots(what: string, limit: number): Slots {
  const taken = new Map<string, number>();
  return {
    take(caller) {
      const count = (taken.get(caller) ?? 0) + 1;
      if (count > limit)
        throw new Problem({
          status: 429,
          code: "too_many",
          detail: `${caller} has ${limit} ${what} open at this gateway, which is the most: close one first`,
          headers: { "retry-after": "5" },
        });
      taken.set(caller, count);
      let isBack = false;
      return () => {
        if (isBack) return;
        isBack = true;
        const left = (taken.get(caller) ?? 1) - 1;
        if (left === 0) taken.delete(caller);
        else taken.set(caller, left);
      };
    },
  };
}
