/** Finds names that are one letter more, one fewer or one other than a given one. */
export interface NearNames<T> {
  find(name: string): T | null;
}

/** Shorter names are near to each other by chance. */
const SHORTEST = 8;
/**
 * Names with the same half that are compared with one; a server that has more of them hides from a finding that is only
 * informative.
 */
const MAX_COMPARED = 500;

/**
 * One letter changes one half of a name and leaves the other as it is, so names are found by their
 * halves. Equal names are not near.
 */
export function nearNames<T>(entries: Iterable<readonly [name: string, value: T]>): NearNames<T> {
  const byHalf = new Map<string, [name: string, value: T][]>();
  for (const [name, value] of entries) {
    if (name.length < SHORTEST - 1) continue;
    // The halves of a name with one letter fewer, as many, or one more.
    for (const size of new Set([-1, 0, 1].map((more) => halfOf(name.length + more))))
      for (const key of keysOf(name, size)) {
        const sharing = byHalf.get(key);
        if (sharing === undefined) byHalf.set(key, [[name, value]]);
        else if (sharing.length < MAX_COMPARED) sharing.push([name, value]);
      }
  }
  return {
    find(name) {
      if (name.length < SHORTEST) return null;
      for (const key of keysOf(name, halfOf(name.length)))
        for (const [other, value] of byHalf.get(key) ?? []) if (isOneOff(name, other)) return value;
      return null;
    },
  };
}

function halfOf(length: number): number {
  return Math.floor((length - 1) / 2);
}

function keysOf(name: string, size: number): [string, string] {
  return [`<${name.slice(0, size)}`, `>${name.slice(name.length - size)}`];
}

/** True when inserting, deleting or replacing one letter turns one name into the other. */
export function isOneOff(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (one === other || long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  const rest = short.length === long.length ? short.slice(at + 1) : short.slice(at);
  return rest === long.slice(at + 1);
}
