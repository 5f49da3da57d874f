/** One row of `yard doctor`. */
export interface Check {
  readonly id: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** What was found. */
  readonly summary: string;
  /** What to do about it; null when there is nothing to do. */
  readonly fix: string | null;
  /** Does it, where that is safe, and says what was done. */
  readonly repair?: () => Promise<string>;
}

export function ok(id: string, summary: string): Check {
  return { id, status: "ok", summary, fix: null };
}

export function warning(id: string, summary: string, fix: string): Check {
  return { id, status: "warning", summary, fix };
}

export function failed(id: string, summary: string, fix: string): Check {
  return { id, status: "failed", summary, fix };
}

export function skipped(id: string, summary: string): Check {
  return { id, status: "skipped", summary, fix: null };
}

/** Runs a check; whatever it throws is its finding, and what that says to do about it comes before `fix`. */
export async function checked(
  id: string,
  fix: string,
  check: () => Promise<Check>,
): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof Error)) return failed(id, String(error), fix);
    const hint = "hint" in error && typeof error.hint === "string" ? error.hint : fix;
    return failed(id, error.message, hint);
  }
}
