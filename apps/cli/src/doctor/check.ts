/** One row of `yard doctor`. */
export interface Check {
  readonly id: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** The finding. */
  readonly summary: string;
  /** Advice; null when nothing needs to be done. */
  readonly fix: string | null;
  /** Repairs it, where that is safe, and returns what was done. */
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

/** Runs a check; a thrown error is its finding, and the error's own hint precedes `fix`. */
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
