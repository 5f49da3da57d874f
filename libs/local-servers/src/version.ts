/** The first `1.2` or `1.2.3` in a text such as `nats-server: v2.15.1` or `Redis server v=7.0.15 sha=…`; `null` when there is none. */
export function versionIn(text: string): string | null {
  return /\bv?=?(\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1] ?? null;
}

/** Negative when `left` is older. A missing part counts as 0. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (const index of [0, 1, 2]) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
