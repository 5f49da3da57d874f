import { Problem } from "../problems/problem.ts";

/** How many streams of events each caller has open on this replica. */
export interface StreamPlaces {
  /** Throws a Problem when the caller has no place left; the place is given back when the signal of its stream aborts. */
  take(caller: string): (closed: AbortSignal) => void;
}

export function createStreamPlaces(limit: number): StreamPlaces {
  const taken = new Map<string, number>();
  const giveBack = (caller: string): void => {
    const left = (taken.get(caller) ?? 1) - 1;
    if (left === 0) taken.delete(caller);
    else taken.set(caller, left);
  };
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
      return (closed) => {
        if (closed.aborted) giveBack(caller);
        else closed.addEventListener("abort", () => giveBack(caller), { once: true });
      };
    },
  };
}
